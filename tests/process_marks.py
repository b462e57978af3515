"""A pytest plugin that fails tests that start a process without a marker."""

from __future__ import annotations

import platform
import sys
from collections.abc import Generator

import pytest

STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
# `scripts/test fast` runs no test with one of these markers.
MARKS = "process workspace wire local_llm slow serial hazard network long".split()


class ProcessMarks:
    """The plugin, with the processes that the current test has started."""

    def __init__(self) -> None:
        self._started: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, values: tuple[object, ...]) -> None:
        if event in STARTS:
            self._started.append(f"{event}{values[:2]}"[:200])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._started.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        """Ignore what shared fixtures start: any test may be the first to need them."""
        before = len(self._started)
        made = yield
        if fixturedef.scope != "function":
            del self._started[before:]
        return made

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        yield
        if self._started and not any(map(item.get_closest_marker, MARKS)):
            first = self._started[0]
            pytest.fail(f"{item.nodeid} is not marked `process`: {first}", pytrace=False)


def pytest_configure(config: pytest.Config) -> None:
    platform.processor()  # its first call starts a program
    config.pluginmanager.register(ProcessMarks(), "marks of processes")
