"""A pytest plugin: a test that starts a process has a mark that says so, or it fails.

`scripts/test fast` leaves those tests out.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Generator

import pytest

STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
# Each of these says that it takes longer than a part of Winnow by itself.
MARKS = (
    *("process", "workspace", "wire", "local_llm", "slow", "serial"),
    *("hazard", "network", "long"),
)


class ProcessMarks:
    """The plugin: what the test that runs has started."""

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
        """Count nothing that a fixture starts for several tests: any of them may be the first."""
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
    platform.processor()  # it starts a program the first time, for whoever asks
    config.pluginmanager.register(ProcessMarks(), "marks of processes")
