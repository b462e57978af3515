"""Add the candidates of a cluster to the scope of a ranked search, which ranks them together with
local files."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterator, Sequence

from winnow.cluster import shared
from winnow.cluster.documents import TextRecord, record_of
from winnow.cluster.queries import Words
from winnow.ranking.matched_corpus import LooseText
from winnow.ranking.semantic.question import question_of
from winnow.search.shared.laid_out import BranchFolder, laid_out
from winnow.search.shared.scope import SharedScope
from winnow.search.shared.session import (
    SharedAnswer,
    SharedFile,
    SharedRequest,
    described,
    not_written,
)
from winnow.search.shared.wanted import Wanted
from winnow.symbols.file_symbols import FileSymbols, ScopeTable
from winnow.text.scope import Filters
from winnow.workspace import EngineWorkspace

# A text as the ranker gets it, and its symbols if it has some.
_Known = tuple[LooseText, FileSymbols | None]


def _words_of(wanted: Wanted) -> Words:
    """Return what the cluster searches for; all terms are equally rare, as far as is known here."""
    question = question_of(wanted.query, lambda numbers: [1.0] * len(numbers))
    return Words(
        terms=list(zip(question.numbers, question.weights, strict=True)),
        names=[*question.names, *question.titles],
        text=" ".join([*question.spelled, *question.paths]),
        patterns=wanted.patterns,
        parts=wanted.names,
        must_match=wanted.must_match,
    )


@contextlib.asynccontextmanager
async def with_candidates(
    workspace: EngineWorkspace,
    filters: Filters,
    repositories: Sequence[str],
    wanted: Wanted,
) -> AsyncIterator[SharedScope]:
    """Open a scope with the cluster's best texts for a query."""
    local = workspace.scope(filters)
    words = await asyncio.to_thread(_words_of, wanted)
    request = SharedRequest(
        workspace,
        repositories,
        wanted.query,
        lambda client, index, patterns: shared.about(client, index, patterns, words),
    )
    async with request:
        answer = await request.answer()
    async with contextlib.AsyncExitStack() as stack:
        folders: list[BranchFolder] = []
        try:
            folders = await stack.enter_async_context(
                laid_out(workspace, answer.files, filters.path)
            )
        except OSError as error:  # a full disk, for example
            answer = not_written(answer, error)
        known = await asyncio.to_thread(lambda: dict(_known(folders)))
        scope = workspace.scope(filters, [folder.root for folder in folders]) if folders else local
        yield SharedScope(
            **{name: getattr(scope, name) for name in scope.__struct_fields__},
            state=answer.state,
            reasons=[*_reasons(answer, wanted, known.values())],
            branches=[folder.branch for folder in folders],
            texts={path: text for path, (text, _) in known.items()},
            symbols={path: symbols for path, (_, symbols) in known.items() if symbols},
        )


def _reasons(answer: SharedAnswer, wanted: Wanted, known: Collection[_Known]) -> Iterator[str]:
    """Yield why rows of the cluster may be missing, or in another order."""
    yield from described(answer.state)
    if wanted.must_match and answer.total > shared.ABOUT:
        yield (
            f"repositories: the best {shared.ABOUT} of {answer.total} texts that may match were"
            " searched: narrow the query or `repositories`"
        )
    if others := sum(text.definitions is None for text, _ in known):
        yield (
            f"repositories: {others} texts are from another version of Winnow, and their"
            " definitions are unknown: push them again"
        )


def _known(folders: Sequence[BranchFolder]) -> Iterator[tuple[str, _Known]]:
    """Yield the absolute paths of the files, with what is known of them."""
    for folder in folders:
        for file in folder.files:
            record = record_of(file.source)
            yield f"{folder.root.as_posix()}/{file.path}", (_text(file, record), _symbols(record))


def _text(file: SharedFile, record: TextRecord | None) -> LooseText:
    if record is None:
        return LooseText(file.path, dict(enumerate(file.source.text.split("\n"), 1)))
    return LooseText(file.path, {}, record.definitions, record.contents)


def _symbols(record: TextRecord | None) -> FileSymbols | None:
    if record is None or not record.definitions:
        return None
    return FileSymbols(record.language, [*record.definitions], ScopeTable(()), {})
