"""Read the lines with which test runners name a test: `a.py::test_x[1]`, `--- FAIL: TestX (0.1s)`.

Every pattern is anchored and has no ambiguous repetitions.
"""

from __future__ import annotations

import re

# pytest: the file, the classes and the function, the parameters, and the error in a summary.
_PYTEST = re.compile(
    r"(?:[A-Z]{4,7}\s+)?([^\s:\[\]]+\.py)::(\w+(?:::\w+)*)(?:\[.*\])?(?:\s+(?:-\s.*|[A-Z]{4,7}\b.*))?"
)
# Others: the qualified name of the test. A test of Go can have parts: `TestX/empty`.
_OTHERS = [
    re.compile(pattern)
    for pattern in (
        r"(?:=== \w+|--- (?:FAIL|PASS|SKIP):)\s+(\w+)(?:/\S*)?(?:\s+\(.*\))?",
        r"((?:Test|Benchmark|Fuzz)[A-Z_]\w*)/\S+",
        r"(?:test|----)\s+(\w+(?:::\w+)*)\s+(?:\.\.\.\s.*|stdout ----)",
        r"(?:(?:Failed|Passed|Skipped)\s+)?(\w+(?:\.\w+)+)(?:\(.*\))?\s+\[(?:FAIL|SKIP|[<\d].*)\]",
        r"\d{1,4}\)\s+(\w+(?:\\\w+)*::\w+)(?:\s+with data set.*)?",
        r"(?:\w+\.)*(\w+)\s+>\s+(\w+)(?:\(.*\))?\s+(?:FAILED|PASSED|SKIPPED)",
    )
]


def named_test(line: str) -> str:
    """Return a query for the symbol of the test that a line names; empty if it names none."""
    if found := _PYTEST.fullmatch(line):
        return f"{found[2].replace('::', '.')} path:{found[1]}"
    for pattern in _OTHERS:
        if found := pattern.fullmatch(line):
            return ".".join(found.groups())
    return ""
