"""The flags that people know from ripgrep and grep, as other spellings of a tool's params.

Flags of `winnow grep` that change the form of its output print what ripgrep prints, for programs
that read it: nothing else is on standard output then.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from winnow.errors import InvalidParams
from winnow.search.grep.page import GrepMatch, PreviewLine
from winnow.text.ripgrep import escaped
from winnow.text.sanitize import printable
from winnow.tools.grep import GrepResult
from winnow.tools.registry import Tool
from winnow.tools.terminal import seen_path

# The last of -i, -s and -S counts; -S depends on the pattern.
SMART = "smart"
# Flags of `winnow grep` that set a param.
_PARAMS: tuple[tuple[tuple[str, ...], str, Any, str], ...] = (
    (("-i", "--ignore-case"), "case_sensitive", False, "ignore upper and lower case"),
    (("-S", "--smart-case"), "case_sensitive", SMART, "ignore case if the pattern is lower case"),
    (("-s",), "case_sensitive", True, "distinguish upper and lower case, the default"),
    (("-w", "--word-regexp"), "word", True, "match whole words only"),
    (("-F", "--fixed-strings"), "literal", True, "the pattern is text"),
    (("-U",), "multiline", True, "same as --multiline"),
    (("-a", "--text"), "include_binary", True, "same as --include-binary"),
    (("--hidden",), "include_hidden", True, "same as --include-hidden"),
    (("--no-ignore",), "include_ignored", True, "same as --include-ignored"),
)
# What grep needs flags for, such as `grep -rnE`, and Winnow always does.
_ALWAYS_ON = (
    ("-n", "--line-number"),
    ("-H", "--with-filename"),
    ("-r", "-R", "--recursive"),
    ("-E", "--extended-regexp"),
)
_FORMS = (
    (("-l", "--files-with-matches"), "files", "print only the paths of files that match"),
    (("-c", "--count"), "count", "print the number of matching lines of each file"),
    (("-o", "--only-matching"), "only", "print each match without its line"),
    (("--vimgrep",), "vimgrep", "print each match as path:line:column:text"),
    (("--no-heading",), "lines", "print each line as path:line:text"),
    (("--json",), "json", "print matches as JSON Lines, like rg --json"),
)
_MODES = {"files": "files", "count": "line_counts"}


def add_flags(command: argparse.ArgumentParser, tool: Tool[Any, Any]) -> None:
    """Add the flags that fit a tool to its command."""
    names = {field.name for field in tool.fields}
    if "include" in names:
        glob = "search files that match the glob; with ! in front, all others"
        _append(command, "-g", "--glob", dest="globs", metavar="GLOB", help=glob)
        if "file_types" in names:
            types = "search files of this type, such as py"
            _append(command, "-t", "--type", dest="file_types", metavar="TYPE", help=types)
        others = "don't search files of this type"
        _append(command, "-T", "--type-not", dest="types_not", metavar="TYPE", help=others)
    if tool.name == "grep":
        _add_flags_of_grep(command)


def _append(command: argparse.ArgumentParser, *names: str, **options: Any) -> None:
    command.add_argument(*names, action="append", default=None, **options)


def _add_flags_of_grep(command: argparse.ArgumentParser) -> None:
    for names, param, value, help_ in _PARAMS:
        command.add_argument(
            *names, dest=param, action="store_const", const=value, default=None, help=help_
        )
    colors: dict[str, Any] = {"metavar": "WHEN", "choices": ("auto", "always", "never")}
    command.add_argument("--color", default="auto", help="auto, always or never", **colors)
    command.add_argument("--sort", choices=("path",), help="always on")
    count: dict[str, Any] = {"type": int, "metavar": "N"}
    command.add_argument("-A", "--after-context", **count, help="show N lines after each match")
    command.add_argument("-B", "--before-context", **count, help="show N lines before each match")
    command.add_argument("-C", "--context", **count, help="show N lines around each match")
    for names in _ALWAYS_ON:
        command.add_argument(*names, action="store_true", help="always on")
    _append(command, "-e", "--regexp", dest="patterns", metavar="PATTERN", help="a pattern")
    [pattern] = [action for action in command._actions if action.dest == "pattern"]
    pattern.nargs, pattern.required = "?", False  # -e is the other way
    forms = command.add_mutually_exclusive_group()
    for names, form, help_ in _FORMS:
        forms.add_argument(*names, dest="form", action="store_const", const=form, help=help_)
    command.add_argument("-0", "--null", action="store_true", help="end paths with a NUL byte")


def params_of_grep(options: argparse.Namespace) -> dict[str, Any]:
    """Return the params of the flags of `winnow grep`."""
    params: dict[str, Any] = {}
    if not options.patterns and options.pattern is None:
        raise InvalidParams("pattern", "missing")
    if options.patterns:
        # With -e, the first argument is a path.
        if options.pattern is not None:
            options.path.insert(0, options.pattern)
            options.pattern = None
        one, *others = options.patterns
        params["pattern"] = one
        if others:
            texts = options.patterns
            if options.literal:
                texts = [*map(escaped, texts)]
                params["literal"] = False
            params["pattern"] = "|".join(f"(?:{each})" for each in texts)
    if options.case_sensitive == SMART:
        pattern = params.get("pattern", options.pattern)
        # An escape such as \W is no capital.
        params["case_sensitive"] = any(map(str.isupper, re.sub(r"\\.", "", pattern)))
    around = (options.after_context, options.before_context, options.context)
    if counts := [count for count in around if count is not None]:
        params["context_lines"] = max(counts)
    if options.form:
        params["mode"] = _MODES.get(options.form, "matches")
    if options.form not in (None, "lines", "json"):
        params["context_lines"] = 0
    return params


def context_of(options: argparse.Namespace) -> tuple[int, int] | None:
    """Return the number of lines before and after a match, if the flags set them."""
    around = options.context or 0
    before, after = options.before_context, options.after_context
    if before is None and after is None:
        return None
    return before if before is not None else around, after if after is not None else around


def with_context(result: GrepResult, before: int, after: int) -> GrepResult:
    """Return the result with this number of lines around each match."""
    matching: dict[tuple[str | None, str], list[int]] = {}
    for match in result.matches:
        lines = matching.setdefault((match.root, match.path), [])
        lines += [line.line for line in match.preview if line.match]

    def kept(match: Any) -> list[Any]:
        lines = matching[match.root, match.path]
        return [
            line
            for line in match.preview
            if any(at - before <= line.line <= at + after for at in lines)
        ]

    matches = [msgspec.structs.replace(match, preview=kept(match)) for match in result.matches]
    return msgspec.structs.replace(result, matches=matches)


def end_of_form(result: GrepResult, form: str) -> str:
    """Return the output after all matches in a form."""
    if form != "json":
        return ""
    complete = result.completeness.complete and not result.truncated
    summary = {"type": "summary", "data": {"matches": result.returned, "complete": complete}}
    return json.dumps(summary) + "\n"


def in_form(result: GrepResult, form: str, folder: str, *, null: bool) -> str:
    """Return the answer as ripgrep prints it in a form."""
    if form == "json":
        return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in _json(result, folder))
    end = "\n" if form == "files" else ""
    return "".join(
        f"{path}{chr(0) if null else end or mark}{rest}"
        for path, mark, rest in _rows(result, form, folder)
    )


def _rows(result: GrepResult, form: str, folder: str) -> Iterator[tuple[str, str, str]]:
    """Yield each record: a path, the mark behind it, and the rest of its line."""
    for file in result.files or ():
        count = f"{file.matches}\n" if form == "count" else ""
        yield seen_path(file, result.root, folder), ":", count
    if form == "lines":
        for match in result.matches:
            for line in match.preview:
                mark = ":" if line.match else "-"
                path = seen_path(match, result.root, folder)
                yield path, mark, f"{line.line}{mark}{printable(line.text)}\n"
        return
    for match, line in _with_lines(result):
        path, (first, last) = seen_path(match, result.root, folder), match.match_range
        start = first - (line.text_column or 1)
        if form == "only":
            found = line.text[start : start + last - first]
            yield path, ":", f"{match.line}:{printable(found)}\n"
        else:
            column = len(line.text[:start].encode()) + (line.text_column or 1)
            yield path, ":", f"{match.line}:{column}:{printable(line.text)}\n"


def _with_lines(result: GrepResult) -> Iterator[tuple[GrepMatch, PreviewLine]]:
    """Yield each match with its line, which is in the preview of the first match on it."""
    lines: dict[tuple[str | None, str, int], PreviewLine] = {}
    for match in result.matches:
        for line in match.preview:
            lines[match.root, match.path, line.line] = line
        yield match, lines[match.root, match.path, match.line]


def _json(result: GrepResult, folder: str) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of `rg --json` for each file: its begin, its matching lines, its end."""
    files: dict[str, dict[int, tuple[PreviewLine, list[tuple[int, int]]]]] = {}
    for match, line in _with_lines(result):
        lines = files.setdefault(seen_path(match, result.root, folder), {})
        lines.setdefault(match.line, (line, []))[1].append(match.match_range)
    for path, lines in files.items():
        yield {"type": "begin", "data": {"path": {"text": path}}}
        for number, (line, spans) in lines.items():
            data = {
                "path": {"text": path},
                "lines": {"text": line.text + "\n"},
                "line_number": number,
                "submatches": [_submatch(line, *span) for span in spans],
            }
            yield {"type": "match", "data": data}
        yield {"type": "end", "data": {"path": {"text": path}}}


def _submatch(line: PreviewLine, first: int, last: int) -> Mapping[str, Any]:
    """Return a match within its line; ripgrep counts bytes from 0."""
    at = first - (line.text_column or 1)
    found, start = line.text[at : at + last - first], len(line.text[:at].encode())
    return {"match": {"text": found}, "start": start, "end": start + len(found.encode())}


def relative_globs(globs: list[str], folder: str, root: str) -> tuple[list[str], list[str]]:
    """Return the globs to include and to exclude; those with a slash are relative to a folder."""
    below = os.path.relpath(folder, root).replace(os.sep, "/")
    prefix = "" if below == "." or below.startswith("..") else f"/{below}/"
    included: list[str] = []
    excluded: list[str] = []
    for glob in globs:
        name = glob.removeprefix("!")
        if prefix and "/" in name.rstrip("/"):
            name = prefix + name.removeprefix("./").removeprefix("/")
        (excluded if glob.startswith("!") else included).append(name)
    return included, excluded
