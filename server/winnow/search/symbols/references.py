"""find_references: where a symbol is used, with what each use is and how sure that is."""

from __future__ import annotations

import asyncio
import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from winnow.config.globs import InvalidGlob, glob_regex
from winnow.errors import InvalidParams, NoSymbol
from winnow.search.answer import cursor
from winnow.search.answer.completeness import CHANGED, fractions
from winnow.search.answer.shorten import shorten
from winnow.search.symbols.navigation import Navigation, SymbolAtPosition, SymbolUse, parts_of
from winnow.search.symbols.requests import (
    Prerequisites,
    SymbolAnswer,
    absolute,
    index_reasons,
    sources_of,
    with_symbols,
)
from winnow.storage.paths import shown_path
from winnow.symbols.file_symbols import Definition
from winnow.symbols.resolve.places import NamePlace, function_around
from winnow.symbols.view import File
from winnow.text.lines import SourceTexts
from winnow.text.paths import held_by, locate
from winnow.text.scope import DisplayPath, shown_below
from winnow.types import Completeness, Progress, Skipped
from winnow.types.find_references import (
    FindReferencesParams,
    FindReferencesPartial,
    FindReferencesResult,
    Reference,
    ReferencedSymbol,
    ReferencesInFile,
)
from winnow.workspace import Workspace

TEXT_CHARACTERS = 300
OTHERS_NAMED = 5
UNREAD_NAMED = 3
# Fewer references than this are no better than counts of files.
FEWEST = 5
COUNTED_FILES = (30, 10, 3)
_TIERS = {"certain": 0, "likely": 1, "possible": 2}


class Found(msgspec.Struct, frozen=True):
    """All references, in the order of the answer, and what was asked for; ``unread`` is what
    :meth:`Navigation.unread` says."""

    asked: SymbolAtPosition
    others: list[tuple[File, Definition]]
    references: list[Reference]
    undecided: int
    unread: dict[str, str]


async def find_references(
    workspace: Workspace, params: FindReferencesParams, progress: Progress
) -> FindReferencesResult:
    """The uses of the symbol.

    Raises InvalidParams, NoSymbol, NoWorkspace, NotFound and PathOutsideWorkspace.
    """
    if params.line and not params.path:
        raise InvalidParams("path", "`line` is a line of it: pass both, or `name` alone")
    if not params.name and not params.line:
        raise InvalidParams("name", "pass `name`, or `path` and `line`")
    roots = workspace.search_roots()
    located = locate(params.path, roots, tuple(workspace.buffers)) if params.path else None
    chosen = _chosen(params, roots)
    paths = [absolute(roots, located)] if located else []
    names = parts_of(params.name)[-1:]
    if not params.name:
        names = await asyncio.to_thread(_names_at, sources_of(workspace), paths[0], params)
    asking = Prerequisites(names, paths)

    def work(navigation: Navigation) -> Found:
        shown = _Shown(navigation, roots)
        asked, others = _asked(navigation, params, asking.paths, shown)
        uses = [use for use in navigation.references(asked) if chosen(use)]
        uses.sort(key=lambda use: (_TIERS[use.tier], use.path, use.at))
        places = {(use.path, use.at) for use in uses}
        others = [one for one in others if (one[0].path, one[1].at) not in places]
        references = [shown.reference(use) for use in uses]
        undecided = navigation.resolver.undecided
        unread = navigation.unread(asked.name, asked.path)
        return Found(asked, others, references, undecided, unread)

    progress("Finding references")
    try:
        async with workspace.search_slots:
            answered = await with_symbols(workspace, asking, work, progress)
    except NoSymbol as error:
        raise await _explained(workspace, asking, error) from None
    result = _result(params, roots, answered, _Shown(answered.navigation, roots))
    warnings = [*result.warnings, *workspace.ignore_warnings(roots)]
    result = msgspec.structs.replace(result, warnings=warnings)
    if progress.streaming and not params.max_tokens and result.references:
        progress(
            f"{result.returned} references",
            partial=FindReferencesPartial(references=result.references),
        )
        return msgspec.structs.replace(result, references=[])
    return result


def _names_at(sources: SourceTexts, path: str, params: FindReferencesParams) -> list[str]:
    """The names that may be meant by a place: that at the column, or all on the line."""
    source = sources.read(path)
    if source is None:
        return []
    words = source.words(params.line - 1)
    if params.column:
        at = source.offset(params.line - 1, params.column - 1, "utf-32")
        found = source.word_at(at) if at is not None else None
        words = [found] if found else []
    return list(dict.fromkeys(name for _, name in words))


async def _explained(workspace: Workspace, asking: Prerequisites, error: NoSymbol) -> NoSymbol:
    """The same error, with the reason where nothing is known of the file that was named."""
    problems = await workspace.index.problems()
    for path in asking.paths:
        if path in problems:
            shown = error.data["path"]
            return NoSymbol(f"Nothing is known of the symbols of {shown}: {problems[path]}", shown)
    return error


# --- what is asked for ---------------------------------------------------------------------


def _chosen(params: FindReferencesParams, roots: Sequence[Path]) -> Callable[[SymbolUse], bool]:
    """Whether a use is one of those that were asked for."""
    include, exclude = _globs("include", params.include), _globs("exclude", params.exclude)
    kinds = frozenset(params.kinds)

    def chosen(use: SymbolUse) -> bool:
        if kinds and use.kind not in kinds:
            return False
        if use.kind == "definition" and not params.include_declaration:
            return False
        if params.certain_only and use.tier != "certain":
            return False
        if not include and not exclude:
            return True
        below = _below(roots, use.path)[1]
        wanted = not include or any(pattern.fullmatch(below) for pattern in include)
        return wanted and not any(pattern.fullmatch(below) for pattern in exclude)

    return chosen


def _globs(field: str, patterns: Sequence[str]) -> list[re.Pattern[str]]:
    try:
        return [glob_regex(pattern) for pattern in patterns]
    except InvalidGlob as error:
        raise InvalidParams(field, str(error)) from None


def _asked(
    navigation: Navigation, params: FindReferencesParams, paths: Sequence[str], shown: _Shown
) -> tuple[SymbolAtPosition, list[tuple[File, Definition]]]:
    """The symbol, and others that the name may mean as well. Raises NoSymbol."""
    if params.line and paths:
        return _asked_at(navigation, params, paths[0], params.line - 1), []
    found = navigation.named(params.name)
    if paths:
        found = [one for one in found if f"{one[0].path}/".startswith(f"{paths[0]}/")]
    # A prototype and what it declares are one symbol.
    distinct = [one for one in found if not one[1].declared] or found[:1]
    if not distinct:
        unread = navigation.unread((parts_of(params.name) or [params.name])[-1])
        reason = f", and {shown.unread(unread)}" if unread else ""
        raise NoSymbol(
            f"No file that is known defines {params.name!r}{reason}: pass `path` and `line` of a"
            " use of it, or look for it with find_symbol or grep",
            params.path,
        )
    asked = navigation.of_definition(*distinct[0])
    same = {(place.path, place.at) for place in asked.places}
    others = [one for one in distinct[1:] if (one[0].path, one[1].at) not in same]
    return asked, others


def _asked_at(
    navigation: Navigation, params: FindReferencesParams, path: str, line: int
) -> SymbolAtPosition:
    source = navigation.sources.read(path)
    if source is None:
        raise NoSymbol(f"{params.path} cannot be read as text", params.path)
    start = source.offset(line, max(params.column, 1) - 1, "utf-32")
    if start is None:
        raise NoSymbol(f"{params.path} has no line {params.line}", params.path)
    symbols = navigation.symbols_on(path, line)
    asked = None
    if params.column:
        asked = navigation.at(path, start)
    elif params.name:
        parts = parts_of(params.name)
        place = source.find(line, parts[-1]) if parts else None
        asked = navigation.at(path, place) if place is not None else None
    else:
        defined = [one for one in navigation.view.definitions_in(path) if one.line == line]
        if defined:
            asked = navigation.of_definition(File(path, ""), defined[0])
        elif len(symbols) == 1:
            asked = navigation.named_at(path, *symbols[0])
    if asked is None:
        where = f"line {params.line}" + (f", column {params.column}" if params.column else "")
        names = ", ".join(dict.fromkeys(name for _, name in symbols)) or "another line"
        raise NoSymbol(
            f"No symbol is meant by {where} of {params.path}: pass `column`, or `name` for one of"
            f" {names}",
            params.path,
        )
    return asked


# --- the answer ----------------------------------------------------------------------------


def _below(roots: Sequence[Path], path: str) -> tuple[Path, str]:
    """The root that a file of the index is in, and the path below it."""
    held = held_by(path, [root.as_posix() for root in roots])
    if held is None:  # of a folder that was added while this was asked
        return roots[0], os.path.relpath(path, roots[0]).replace(os.sep, "/")
    return roots[held[0]], held[1]


class _Shown:
    """Places as answers show them."""

    def __init__(self, navigation: Navigation, roots: Sequence[Path]) -> None:
        self._navigation = navigation
        self._roots = roots

    def path(self, path: str) -> DisplayPath:
        return shown_below(*_below(self._roots, path), several=len(self._roots) > 1)

    def whole(self, path: str) -> str:
        """A path in a sentence, with its root where there are several."""
        found = self.path(path)
        return f"{found.root}/{found.path}" if found.root else found.path

    def unread(self, unread: Mapping[str, str]) -> str:
        """What :meth:`Navigation.unread` says, in words."""
        named = [f"{self.whole(path)} ({why})" for path, why in unread.items()]
        more = f" and {len(named) - UNREAD_NAMED} more" if len(named) > UNREAD_NAMED else ""
        return (
            f"nothing is known of files that hold the name: {', '.join(named[:UNREAD_NAMED])}{more}"
        )

    def reference(self, use: SymbolUse) -> Reference:
        source = self._navigation.sources.read(use.path)
        assert source is not None
        number = source.line_at(use.at)
        column = source.column(use.at, "utf-32") + 1
        text = source.line(number).strip()
        if len(text) > TEXT_CHARACTERS:
            text = text[: TEXT_CHARACTERS - 1] + "…"
        around = function_around(self._navigation.view, use.path, use.at)
        at = self.path(use.path)
        return Reference(
            line=number + 1,
            column=column,
            end_column=column + len(use.name),
            kind=use.kind,
            confidence="certain" if use.tier == "certain" else "possible",
            text=text,
            within=around.qualified_name if around and around.at != use.at else "",
            path=at.path,
            root=at.root,
            uri=at.uri,
        )

    def symbol(self, place: NamePlace) -> ReferencedSymbol | None:
        source = self._navigation.sources.read(place.path)
        if source is None:
            return None
        definition, at = place.definition, self.path(place.path)
        return ReferencedSymbol(
            name=place.name,
            qualified_name=definition.qualified_name if definition else place.name,
            kind=definition.kind if definition else "variable" if place.name else "module",
            line=source.line_at(place.at) + 1,
            column=source.column(place.at, "utf-32") + 1,
            signature=definition.signature if definition else "",
            path=at.path,
            root=at.root,
            uri=at.uri,
        )


def _result(
    params: FindReferencesParams,
    roots: Sequence[Path],
    answered: SymbolAnswer[Found],
    shown: _Shown,
) -> FindReferencesResult:
    found = answered.result
    total = len(found.references)
    defined = () if found.asked.external else found.asked.places
    symbol = next((one for place in defined if (one := shown.symbol(place))), None)
    first, changed = cursor.resume(
        params, int, lambda position: min(position, total), lambda end: _stamp(found, end)
    )
    reasons = [*index_reasons(answered), *([CHANGED] if changed else [])]
    if found.unread:
        reasons.append(shown.unread(found.unread))
    completeness = Completeness(
        complete=not reasons,
        reasons=reasons,
        skipped=Skipped(unreadable=len(answered.navigation.changed) or None),
        timed_out=answered.timed_out,
        index=answered.state,
    )
    warnings = _warnings(params, found, shown)
    certain = sum(one.confidence == "certain" for one in found.references)

    def page(count: int, *, texts: bool = True) -> FindReferencesResult:
        references = found.references[first : first + count]
        if not texts:
            references = [msgspec.structs.replace(one, text="", within="") for one in references]
        more = first + count < total
        return FindReferencesResult(
            root=shown_path(str(roots[0]))[0],
            symbol=symbol,
            references=references,
            certain=certain,
            total_found=total,
            returned=len(references),
            truncated=more or not texts,
            completeness=completeness,
            warnings=warnings,
            cursor=cursor.encode(params, first + count, _stamp(found, first + count))
            if more
            else None,
        )

    count = min(params.max_results, total - first)
    short = functools.partial(page, texts=False)
    steps: list[Callable[[], FindReferencesResult]] = [
        functools.partial(short, fewer) for fewer in fractions(count, min(FEWEST, count))
    ]
    steps += [functools.partial(_counted, short(0), found, files) for files in COUNTED_FILES]
    return shorten(page(count), params.max_tokens, steps)


def _counted(result: FindReferencesResult, found: Found, most: int) -> FindReferencesResult:
    """Counts of the files with the most references, in the place of these."""
    counts: dict[tuple[str, str | None], int] = {}
    for one in found.references:
        counts[one.path, one.root] = counts.get((one.path, one.root), 0) + 1
    files = [
        ReferencesInFile(path=path, root=root, references=count)
        for (path, root), count in sorted(counts.items(), key=lambda item: -item[1])[:most]
    ]
    return msgspec.structs.replace(result, files=files, cursor=None)


def _stamp(found: Found, end: int) -> bytes:
    return cursor.stamp_of(
        [(one.root, one.path, one.line, one.column) for one in found.references[:end]]
    )


def _warnings(params: FindReferencesParams, found: Found, shown: _Shown) -> list[str]:
    warnings = []
    if found.asked.guessed:
        warnings.append(
            f"nothing says what {found.asked.name!r} is a member of there: these are the uses of"
            " all members of that name"
        )
    if found.asked.external:
        warnings.append(f"{found.asked.name!r} is defined outside of the workspace, or nowhere")
    if found.undecided:
        warnings.append(
            f"{found.undecided} more uses of the name {found.asked.name!r} have receivers of"
            " unknown type, and other classes define it, too: grep shows them"
        )
    if found.others:
        places = [
            f"{shown.whole(file.path)}:{definition.line + 1}"
            for file, definition in found.others[:OTHERS_NAMED]
        ]
        more = len(found.others) - len(places)
        warnings.append(
            f"{params.name!r} is also defined at {', '.join(places)}"
            + (f" and {more} other places" if more else "")
            + ": pass `path` and `line` for the references of those"
        )
    return warnings
