"""The table of hazards: each row is a test, with its number of attempts and its result.

`python benchmarks/hazards.py` prints the table, and so does every pytest run with such a test.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass

import pytest

IS_CI = os.environ.get("CI") == "true"
REQUESTS = 500
SOAK_SECONDS = 60.0 if IS_CI else 20.0
# The factor for the number of attempts with `--thorough`.
THOROUGH = 4


@dataclass
class Row:
    """A row of the table; values that a failed test has not set are unknown."""

    hazard: str = ""
    tries: int = 0
    result: str = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hazards")
    group.addoption("--seed", type=int, default=9, help="seed for random input")
    group.addoption(
        "--fuzz", type=float, default=0, metavar="SECONDS", help="duration instead of a count"
    )
    group.addoption("--requests", type=int, default=REQUESTS, metavar="COUNT")
    group.addoption("--thorough", action="store_true", help=f"{THOROUGH} times as many attempts")
    group.addoption("--soak", type=float, default=SOAK_SECONDS, metavar="SECONDS")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--seed"))


@pytest.fixture
def often(request: pytest.FixtureRequest) -> int:
    """Return the factor for the number of attempts."""
    return THOROUGH if request.config.getoption("--thorough") else 1


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    """Return the test's row of the table."""
    row = Row(request.node.name)
    request.node.user_properties.append(("hazard", row))
    return row


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Convert rows to plain values: reports are sent to the process that prints the table."""
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
    """Format the table; rows of tests that have not passed start with their outcome."""
    width = max(len(row.hazard) for row, _ in rows)
    lines = [f"{'hazard':{width}}{'tries':>8}  result"]
    for row, outcome in rows:
        prefix = {"passed": "", "xpassed": "", "xfailed": "KNOWN: "}.get(
            outcome, f"{outcome.upper()} "
        )
        result = f"{prefix}{row.result}".rstrip()
        lines.append(f"{row.hazard:{width}}{row.tries:8,}  {result}")
    return lines


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of all values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
