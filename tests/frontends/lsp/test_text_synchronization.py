"""Searches find what the editor has, not what is on disk: didOpen, didChange, didClose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frontends.lsp.wire import Wire

pytestmark = pytest.mark.wire

# Three lines: a form feed, a U+2028 and a U+0085 end none.
TEXT = "first\x0cpage\u2028 x\x85y\r\n😀é = hay_one;\r\nlast = hay_two\r"
EDITED = ["😀é = needle_one;", "last = needle_two"]

ENCODINGS = {"utf-8": 9, "utf-16": 6, "utf-32": 5}  # and where `hay_one` begins


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    assert wire.stop() == 0


def found(wire: Wire, term: str = "needle") -> dict[str, list[str]]:
    """Return the lines that a search finds, by path."""
    params = {"query": "q", "search_terms": [term], "ranker": "local"}
    wire.request(1, "$/keywordSearch", params)
    result = wire.receive()["result"]
    return {file["path"]: [match["text"] for match in file["matches"]] for file in result["files"]}


def open_document(wire: Wire, uri: str, text: str) -> None:
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    wire.notify("textDocument/didOpen", {"textDocument": document})


def change(wire: Wire, uri: str, *changes: dict[str, Any]) -> None:
    document = {"uri": uri, "version": 2}
    wire.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})


def close(wire: Wire, uri: str) -> None:
    wire.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def edit(line: int, start: int, end: int, text: str) -> dict[str, Any]:
    places = [{"line": line, "character": at} for at in (start, end)]
    return {"range": {"start": places[0], "end": places[1]}, "text": text}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_edits_after_form_feeds_and_astral_characters_change_the_right_text(
    wire: Wire, project: Path, encoding: str
) -> None:
    file = project / "src/edited.py"
    file.write_text("needle_on_disk\n")
    offered = [encoding, *(other for other in ENCODINGS if other != encoding)]
    answer = wire.initialize(project, general={"positionEncodings": offered})
    assert answer["result"]["capabilities"]["positionEncoding"] == encoding

    open_document(wire, file.as_uri(), TEXT)
    assert found(wire) == {}
    at = ENCODINGS[encoding]
    change(wire, file.as_uri(), edit(1, at, at + 3, "needle"), edit(2, 7, 10, "needle"))
    assert found(wire) == {"src/edited.py": EDITED}
    close(wire, file.as_uri())
    assert found(wire) == {"src/edited.py": ["needle_on_disk"]}


def test_an_invalid_change_is_reported_and_the_file_on_disk_is_used(
    wire: Wire, project: Path
) -> None:
    file = project / "src/edited.py"
    file.write_text("needle_on_disk\n")
    wire.initialize(project)
    open_document(wire, file.as_uri(), "needle_in_the_editor\n")
    assert found(wire) == {"src/edited.py": ["needle_in_the_editor"]}
    change(wire, file.as_uri(), {"range": {"start": "nonsense"}, "text": "x"})
    assert found(wire) == {"src/edited.py": ["needle_on_disk"]}
    [said] = wire.notifications
    assert said["method"] == "window/showMessage"
    assert "invalid change of" in said["params"]["message"]


def test_utf_16_is_used_for_a_client_without_a_known_encoding(wire: Wire, project: Path) -> None:
    answer = wire.initialize(project, general={"positionEncodings": ["utf-7"]})
    assert answer["result"]["capabilities"]["positionEncoding"] == "utf-16"
    uri = (project / "src/main.py").as_uri()
    open_document(wire, uri, "😀hay")
    change(wire, uri, edit(0, 2, 5, "needle"))
    assert found(wire) == {"src/main.py": ["😀needle"]}


def test_incremental_synchronization_is_announced(wire: Wire, project: Path) -> None:
    sync = wire.initialize(project)["result"]["capabilities"]["textDocumentSync"]
    assert (sync["openClose"], sync["change"]) == (True, 2)


def test_a_new_file_that_was_never_saved_is_found_until_it_is_closed(
    wire: Wire, project: Path
) -> None:
    wire.initialize(project)
    uri = (project / "new folder/new.py").as_uri()
    open_document(wire, uri, "needle = 1\n")
    assert found(wire) == {"new folder/new.py": ["needle = 1"]}
    change(wire, uri, {"text": "another = 1\n"})
    assert found(wire) == {}
    assert found(wire, "another") == {"new folder/new.py": ["another = 1"]}
    close(wire, uri)
    assert found(wire, "another") == {}


def test_open_documents_stay_open_when_folders_come_and_go(
    wire: Wire, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    wire.initialize(project)
    uri = (project / "src/main.py").as_uri()
    open_document(wire, uri, "needle = 1\n")

    def folders(added: list[Path], removed: list[Path]) -> None:
        named = [
            [{"uri": one.as_uri(), "name": one.name} for one in both] for both in (added, removed)
        ]
        event = {"added": named[0], "removed": named[1]}
        wire.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    folders([other], [project])
    assert found(wire) == {}
    folders([project], [other])
    change(wire, uri, edit(0, 9, 10, "2"))
    assert found(wire) == {"src/main.py": ["needle = 2"]}


def test_changes_to_closed_documents_are_ignored(wire: Wire, project: Path) -> None:
    wire.initialize(project)
    uri = (project / "src/main.py").as_uri()
    change(wire, uri, {"text": "needle"})
    close(wire, uri)
    assert found(wire) == {}
    open_document(wire, "file://[", "needle")
    open_document(wire, "untitled:Untitled-1", "needle")
    assert found(wire) == {}
