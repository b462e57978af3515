"""A pytest plugin: a test that starts a process has the marker `process`, or cannot start it.

`scripts/test fast` leaves these tests out. Tests with one of :data:`FIXTURES` have the marker by
themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

STARTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.system"}
# What fixtures of a module start is seen only in the test that runs first.
FIXTURES = {"client", "make_workers", "make_workspace", "start", "start_client"}


class Guard:
    """Refuses to start processes while a test runs that lacks the marker."""

    def __init__(self) -> None:
        self.refuses_for = ""

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Raise RuntimeError if a process is started that the test may not start: see
        `sys.addaudithook`."""
        if self.refuses_for and event in STARTS:
            raise RuntimeError(f"{self.refuses_for} starts a process: mark it `process`")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        """Let the fixtures of the session start what some tests of it need."""
        refused = self.refuses_for
        if fixturedef.scope == "session":
            self.refuses_for = ""
        try:
            return (yield)
        finally:
            self.refuses_for = refused

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.refuses_for = "" if item.get_closest_marker("process") else item.nodeid
        try:
            return (yield)
        finally:
            self.refuses_for = ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        names = getattr(item, "fixturenames", ())
        if item.get_closest_marker("wire") or not FIXTURES.isdisjoint(names):
            item.add_marker("process")


def pytest_configure(config: pytest.Config) -> None:
    guard = Guard()
    config.pluginmanager.register(guard, "processes of tests")
    sys.addaudithook(guard)
