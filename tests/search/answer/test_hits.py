"""Hits with their current lines."""

from __future__ import annotations

from pathlib import Path

from conftest import write_files
from winnow.search.answer.hits import CurrentTexts, HitList, current_hits
from winnow.text.scope import Scope
from winnow.types import Completeness, DefinedHere, Hit, Skipped


def test_a_snippet_has_the_best_line_without_any_word_of_the_query(project: Path) -> None:
    """Editors and the command line show that line."""
    write_files(project, {"a.java": "import a;\n" * 14 + "class Worker {\n}\n"})
    scope = Scope((project,), ("a.java",), ())
    definitions = [DefinedHere("Worker", "class", 15, 16)]
    hit = Hit("a.java", "passage", 1.0, first=1, last=16, definitions=definitions)
    found = HitList(
        scope,
        [hit],
        1,
        Completeness(complete=True, reasons=[], skipped=Skipped(), timed_out=False),
        {"episodes": 1.0},
    )
    [current] = current_hits(CurrentTexts(scope, {}), found, 0, 1)
    snippet, first = current.snippet(12)
    assert current.best == 15
    assert snippet is not None
    assert snippet.split("\n")[current.best - (first or 1)] == "class Worker {"
