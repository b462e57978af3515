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
# JavaScript: the file or a mark, the suites and the title, which is a string in the code.
_MARK = re.compile(r"(FAIL|PASS|[●×✕✖✗✓✔√])\s+")
_SUITE_END = re.compile(r"\s[>›]\s")
_DURATION = re.compile(r"\s+\(?\d+(?:\.\d+)? ?m?s\)?$")


def named_test(line: str) -> str:
    """Return a query for the symbol of the test that a line names; empty if it names none."""
    if found := _PYTEST.fullmatch(line):
        return f"{found[2].replace('::', '.')} path:{found[1]}"
    for pattern in _OTHERS:
        if found := pattern.fullmatch(line):
            return ".".join(found.groups())
    return ""


def title_of_test(line: str) -> str:
    """Return the title of the test that a line of a JavaScript test runner names; empty if it names
    none."""
    mark = _MARK.match(line)
    if mark is None:
        return ""
    *suites, title = _SUITE_END.split(line[mark.end() :])
    return _DURATION.sub("", title) if suites or not mark[1].isalpha() else ""
