"""The table of hazards: each of its rows is a test, which says what it tried and what came of it.

`python benchmarks/hazards.py` prints it; so does every run of pytest that has such a test in it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass

import pytest

IS_CI = os.environ.get("CI") == "true"
REQUESTS = 500
SOAK_SECONDS = 60.0 if IS_CI else 20.0
# With `--thorough`, so many times as often.
THOROUGH = 4


@dataclass
class Row:
    """A row of the table; what is not set when its test fails is not known."""

    hazard: str = ""
    tries: int = 0
    result: str = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hazards")
    group.addoption("--seed", type=int, default=9, help="what is drawn at random begins with it")
    group.addoption(
        "--fuzz", type=float, default=0, metavar="SECONDS", help="for so long, not so often"
    )
    group.addoption("--requests", type=int, default=REQUESTS, metavar="COUNT")
    group.addoption(
        "--thorough", action="store_true", help=f"{THOROUGH} times as many turns of everything"
    )
    group.addoption("--soak", type=float, default=SOAK_SECONDS, metavar="SECONDS")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--seed"))


@pytest.fixture
def often(request: pytest.FixtureRequest) -> int:
    """How many times as often as usual something is to be tried."""
    return THOROUGH if request.config.getoption("--thorough") else 1


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    """The row of the table that the test is."""
    made = Row(request.node.name)
    request.node.user_properties.append(("hazard", made))
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Make rows plain values: reports are sent to the process that prints the table."""
    report = yield
    report.user_properties = [
        (name, asdict(made) if isinstance(made, Row) else made)
        for name, made in report.user_properties
    ]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = [
        (Row(**made), outcome)
        for outcome in ("passed", "failed", "skipped", "xfailed", "xpassed")
        for report in terminalreporter.getreports(outcome)
        if isinstance(report, pytest.TestReport) and (report.when == "call" or not report.passed)
        for name, made in report.user_properties
        if name == "hazard" and isinstance(made, dict)
    ]
    if rows:
        terminalreporter.section("hazards")
        for line in table(rows):
            terminalreporter.write_line(line)


def table(rows: Sequence[tuple[Row, str]]) -> list[str]:
    """The lines of the table; a row whose test has not passed says so."""
    width = max(len(row.hazard) for row, _ in rows)
    lines = [f"{'hazard':{width}}{'tries':>8}  result"]
    for row, outcome in rows:
        said = {"passed": "", "xpassed": "", "xfailed": "KNOWN: "}.get(
            outcome, f"{outcome.upper()} "
        )
        result = f"{said}{row.result}".rstrip()
        lines.append(f"{row.hazard:{width}}{row.tries:8,}  {result}")
    return lines


def percentile(values: Sequence[float], share: float) -> float:
    """The value that so great a share of all does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
