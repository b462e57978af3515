"""Expected references, as comments beside the code.

    class Client:
        def send(self):  # ref: Client.send definition
            ...
    Client().send()  # ref: Client.send call
    any_of(things).send()  # ref: Client.send call likely

A marker is `ref: LABEL KIND [TIER]`, for every use of the label's last part on its line; `;;`
separates two markers of one line. The default tier is "certain". Each label is queried at its first
"definition", and the complete answer is compared.

The files of a project are a mapping, or one text with a line `-- src/a.py --` before each file.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from conftest import write_files
from indexed import indexed
from winnow.search.symbols.navigation import Navigation
from winnow.text.lines import SourceTexts

_FILE = re.compile(r"^-- (\S+) --\n", re.M)
_MARKER = re.compile(r"(?:#|//|--|/\*)\s*ref: (?P<markers>.*?)\s*(?:\*/)?$")
_PART = re.compile(r"(?P<label>\S+) (?P<kind>\w+)(?: (?P<tier>\w+))?$")


Check = Callable[[str], None]


def check_text(folder: Path, text: str) -> None:
    """Check the references in the files of a text."""
    _, *pieces = _FILE.split(textwrap.dedent(text))
    check_references(folder, dict(zip(pieces[::2], pieces[1::2], strict=True)))


def check_references(folder: Path, files: Mapping[str, str]) -> None:
    """Compare the references of every label with the markers."""
    expected: dict[str, list[str]] = defaultdict(list)
    queried: dict[str, tuple[str, int, str]] = {}
    for file, text in files.items():
        for number, line in enumerate(text.split("\n")):
            found = _MARKER.search(line)
            for marker in found["markers"].split(" ;; ") if found else ():
                part = _PART.match(marker)
                assert part is not None, f"{file}:{number + 1}: no marker: {marker}"
                label, kind, tier = part["label"], part["kind"], part["tier"] or "certain"
                expected[label].append(f"{file}:{number + 1} {kind} {tier}")
                if kind == "definition":
                    name = re.split(r"\.|::", label)[-1]
                    column = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", line)
                    assert column is not None, f"{file}:{number + 1}: {name} is not there"
                    queried.setdefault(label, (file, number, name))
    assert queried.keys() == expected.keys(), "a label without a definition"
    write_files(folder, dict(files))
    with indexed(folder) as view:
        navigation = Navigation(view, SourceTexts([folder], {}, 1_000_000))
        answers = {label: _answered(navigation, folder, *place) for label, place in queried.items()}
        assert not navigation.changed
    # As one list of lines, so that a failing test shows the differences.
    assert _listed(answers) == _listed(expected)


def _listed(places: Mapping[str, list[str]]) -> list[str]:
    return sorted(f"{label} {place}" for label, found in places.items() for place in found)


def _answered(navigation: Navigation, folder: Path, file: str, number: int, name: str) -> list[str]:
    path = (folder / file).as_posix()
    source = navigation.sources.read(path)
    assert source is not None
    line = source.line(number)
    column = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", line)
    assert column is not None
    at = source.offset(number, column.start(), "utf-32")
    assert at is not None
    symbol = navigation.named_at(path, at, name)
    assert symbol is not None, f"{file}:{number + 1}: nothing is known of {name}"
    lines = []
    for use in navigation.references(symbol):
        read = navigation.sources.read(use.path)
        assert read is not None
        place = Path(use.path).relative_to(folder).as_posix()
        lines.append(f"{place}:{read.line_at(use.at) + 1} {use.kind} {use.tier}")
    return sorted(lines)
