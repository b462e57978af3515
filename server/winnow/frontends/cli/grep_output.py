"""The output of `winnow grep`, rendered file by file while the search runs.

An answer may have hundreds of thousands of matches. As objects, they take several times the memory
of their text, which the background process would keep in pieces that nothing else can use.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import msgspec

from winnow.frontends.cli import ripgrep_flags
from winnow.search.grep.page import GrepMatch
from winnow.tools.grep import GrepFile, GrepPartial, GrepResult, closing_lines, rows
from winnow.tools.terminal import Style
from winnow.tools.wording import for_people, worded
from winnow.types import COMPLETE


class GrepOutput:
    """The output of one search, in the form of the command's options.

    ``root`` is that of the answer; paths are shown relative to ``folder``.
    """

    def __init__(self, options: argparse.Namespace, root: str, folder: str, style: Style) -> None:
        self._options = options
        self._around = ripgrep_flags.context_of(options)
        self._folder = folder
        self._style = style
        self._empty = GrepResult(
            root=root,
            matches=[],
            total_found=0,
            returned=0,
            truncated=False,
            completeness=COMPLETE,
            warnings=[],
        )
        self._matches: list[GrepMatch] = []  # of the last file, which may have more
        self._parts: list[str] = []

    def add(self, partial: GrepPartial | GrepResult) -> None:
        """Add the next matches or files."""
        for match in partial.matches:
            if self._matches and _file_of(match) != _file_of(self._matches[-1]):
                self._end_file()
            self._matches.append(match)
        if partial.files:
            self._render([], partial.files)

    def finished(self, result: GrepResult) -> str:
        """Return the complete output, given the result with what was not streamed."""
        self.add(result)
        self._end_file()
        form = self._options.form
        if form:
            return "".join(self._parts) + ripgrep_flags.end_of_form(result, form)
        notes = closing_lines(worded(result, for_people), self._style)
        return "\n".join([*self._parts, *notes, ""])

    def _end_file(self) -> None:
        if self._matches:
            self._render(self._matches, None)
            self._matches = []

    def _render(self, matches: list[GrepMatch], files: Sequence[GrepFile] | None) -> None:
        part = msgspec.structs.replace(
            self._empty, matches=matches, files=None if files is None else list(files)
        )
        if self._around:
            part = ripgrep_flags.with_context(part, *self._around)
        if form := self._options.form:
            null = self._options.null
            self._parts.append(ripgrep_flags.in_form(part, form, self._folder, null=null))
        else:
            self._parts.append("\n".join([*rows(part, self._style, self._folder), ""]))


def _file_of(match: GrepMatch) -> tuple[str | None, str | None, str]:
    return match.repository, match.root, match.path
