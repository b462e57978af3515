"""Find the places in the workspace that make the messages of a query, best first."""

from __future__ import annotations

import asyncio
import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from msgspec import Struct

from winnow.ranking.query.errors import ErrorMessage
from winnow.ranking.query.logs import log_entry
from winnow.ranking.query.parts import QueryParts
from winnow.search.answer.hits import CurrentTexts
from winnow.search.code.catalog_uses import with_uses
from winnow.search.code.enclosing import MARK, enclosing
from winnow.search.code.message_catalogs import is_catalog
from winnow.search.code.message_files import (
    MOST_CATALOGS,
    REPEATING,
    by_length,
    files_with_terms,
    indexed_files_with,
    knows_texts,
    matched_texts,
    repeating_kinds,
)
from winnow.search.code.messages import (
    END,
    MatchedText,
    Site,
    longest_part,
    quoted_terms,
    search_terms,
    sites_in,
)
from winnow.symbols.file_symbols import Definition
from winnow.text.scope import Scope
from winnow.types import Hit, Progress
from winnow.workspace import EngineWorkspace

MOST_MESSAGES = 3
MOST_SITES = 5
# A message that is not reported as an error must be mostly text of the source.
PROBABLE_SHARE = 0.7
# Such a message is looked up in the index, by its most telling terms.
PROBABLE_TERMS, PROBABLE_FILES = 6, 50
# A text that is no message either, such as a label, may be a string of the source. It is looked up
# if that takes little: in the index, and in few files. Trigrams name more files than have the text.
LABEL_WORDS = range(2, 13)
# A text with a capital first letter and so many words is a sentence, in which a value may be.
SENTENCE_WORDS = 6
LABEL_CANDIDATES, LABEL_FILES, LABEL_TERMS = 200, 40, 3
# Shorter texts of message catalogs are also what questions are about: "Offline operations".
CATALOG_WORDS = 3
# The share of a label that the source must have: "User {0} has been locked out".
LABEL_SHARE = 0.7

# What messages say: a text with one of these that asks nothing is probably a message.
_FAILURE = re.compile(
    r"\b(?:not?|cannot|\w+n't|invalid|failed|must|unable|missing|(?:un)?expected|required|unknown|"
    r"already|denied|refused|undefined|too (?:many|large|long|few|big|small|short)|out of|"
    r"illegal|bad|unsupported|requires?|malformed|exceed(?:s|ed)|immutable|read-only|timed out|"
    r"aborted|rejected|unreachable|unavailable|errors?|exception|fail(?:s|ures?)?|unexpectedly|"
    r"deprecated|obsolete)\b",
    re.I,
)
# A value: a number, or in brackets or quotes, but not at the beginning, where people put a topic;
# an address, an absolute path, or what follows a colon behind several words.
_FILLED = re.compile(
    r"(?<= )(?:#?\d+\b|[A-Z]\w*#\w+|"
    r"\[[^\[\]]+\]|\([^()]+\)|\{[^{}]+\}|\"[^\"]+\"|'[^']+'(?!\w))|"
    r"\w://|(?<![^ ])(?:/\w|[A-Z]:\\)|(?<=\w) [\w'-]+: \S"
)
# What clients print before a message of a server.
_LABEL = re.compile(r"^[(\[](?:error|err|fatal|warning)[)\]]:? ", re.I)
_ASKS = re.compile(r"(?:how|what|where|when|which|who|why)\b", re.I)
# "Is the file open?", but also "can call this only once" and "no such name; did you mean …?"
_MAY_ASK = re.compile(r"(?:is|are|does|do|can|should)\b(?!'t| not)|.*\?$", re.I)


class _Message(Struct, frozen=True, dict=True):
    """A message of a query, and the least share of it that the source must have, unless a string
    of the source makes it or a part of it. If it ``is_certain`` that it is a message, it is worth a
    search of all files. If it ``is_label``, a string that is no test's must have nearly all of
    it."""

    error: ErrorMessage
    least: float = 0.0
    is_certain: bool = False
    is_label: bool = False

    @functools.cached_property
    def wholes(self) -> Sequence[str]:
        """The whole text of a label, and the part that has nearly all of it."""
        text = self.error.text.rstrip(END)
        part = longest_part(text)
        return [text, part] if len(part) >= LABEL_SHARE * len(text) else [text]

    @functools.cached_property
    def terms(self) -> Sequence[str]:
        """Texts to search for, of which the source has some."""
        found = search_terms(self.error.text)
        if self.is_label:
            return list(dict.fromkeys([*self.wholes, *found[:LABEL_TERMS]]))
        return found or (quoted_terms(self.error.text) if self.error.kind else [])


async def find_sites(
    workspace: EngineWorkspace, scope: Scope, parts: QueryParts, progress: Progress
) -> list[Site]:
    """Return the places that make the messages of a query, those of the first message first."""
    messages = list(_messages(parts))
    if not messages:
        return []
    async with workspace.search_slots:
        files = await _files(workspace, scope, messages, progress)
        texts = CurrentTexts(scope, workspace.buffers)
        width = workspace.config.limits.line_characters

        def best_sites() -> list[list[Site]]:
            return [
                _best_sites(message, matched_texts(texts, files, message.terms, _weight, width))
                for message in messages
            ]

        of_messages = await asyncio.to_thread(best_sites)
        return [
            site
            for message, sites in zip(messages, of_messages, strict=True)
            for site in await _with_code(workspace, scope, texts, message, sites)
        ]


async def _with_code(
    workspace: EngineWorkspace,
    scope: Scope,
    texts: CurrentTexts,
    message: _Message,
    sites: Sequence[Site],
) -> Sequence[Site]:
    """Return the sites of a message; if no code has it, with the code that shows it by its key. If
    code has it, so have the catalogs of all languages: one is enough."""
    in_catalogs = [site for site in sites if is_catalog(site.path)]
    others = [site for site in sites if not is_catalog(site.path)]
    in_code = [site for site in sites if not _repeats(site.path)]
    is_made = any(site.makes for site in in_catalogs)
    if any(site.makes for site in in_code) or (in_code and not is_made):
        return [site for site in sites if site not in in_catalogs[1:]]
    shown = await with_uses(workspace, scope, texts, in_catalogs)
    # A label that no code shows says nothing.
    if message.is_label and not any(site.is_shown for site in shown):
        return others
    return [*shown, *others]


async def _files(
    workspace: EngineWorkspace, scope: Scope, messages: Sequence[_Message], progress: Progress
) -> Mapping[str, Set[str]]:
    """Return the files that may have terms of some messages, with these terms, by path."""
    found: dict[str, set[str]] = {}

    def add(files: Mapping[str, Set[str]]) -> None:
        for path, terms in files.items():
            found.setdefault(path, set()).update(terms)

    is_indexed = knows_texts(workspace, scope)
    searched: dict[str, None] = {}
    for message in messages:
        known: Mapping[str, Set[str]] = {}
        if is_indexed and message.is_label:
            known = await _files_of_label(workspace, scope, message)
        elif is_indexed and message.least and not message.is_certain:
            terms = message.terms[:PROBABLE_TERMS]
            known = await indexed_files_with(workspace, scope, terms, PROBABLE_FILES, _weight)
        add(known)
        is_doubtful = message.is_label or (is_indexed and message.least == math.inf)
        # The index names no files if too many may have the words of a message.
        if not (known or is_doubtful):
            searched |= dict.fromkeys(message.terms)
    if searched:
        progress("Searching for the error message")
        add(await files_with_terms(workspace, scope, [*searched]))
    return found


async def _files_of_label(
    workspace: EngineWorkspace, scope: Scope, message: _Message
) -> Mapping[str, Set[str]]:
    """Return the files that may have a label: code, if few files are candidates, and message
    catalogs."""
    files = await indexed_files_with(workspace, scope, message.terms, LABEL_CANDIDATES, _weight)
    whole = [path for path in files if not files[path].isdisjoint(message.wholes)]
    code = [path for path in whole if not _repeats(path)]
    # Code is before other files, so that this is all of it.
    chosen = code if len(code) <= LABEL_FILES else []
    if len(message.error.text.split()) >= CATALOG_WORDS:
        chosen += [path for path in files if is_catalog(path)][:MOST_CATALOGS]
    return {path: files[path] for path in chosen}


def _best_sites(message: _Message, texts: Iterable[MatchedText]) -> list[Site]:
    """Return the best places that make a message."""
    error = message.error
    sites = [site for text in texts for site in sites_in(text, error.text, error.kind)]
    repeating = {path for path in {site.path for site in sites} if _repeats(path)}
    if message.is_label:
        sites = [
            site
            for site in sites
            if site.makes
            and (site.path not in repeating or is_catalog(site.path))
            and site.same >= LABEL_SHARE * len(error.text)
        ]
    scores = {site: site.score * (REPEATING if site.path in repeating else 1.0) for site in sites}
    # What repeats a message comes after the code that makes it.
    last = repeating if any(site.makes and site.path not in repeating for site in sites) else ()
    best = sorted(
        (site for site in sites if site.makes or site.score >= message.least),
        key=lambda site: (
            *(site.path in last, -scores[site], -site.same),
            *(by_length(site.path) if site.path in repeating else (0, site.path)),
            site.first,
        ),
    )
    return [site for site in best[:MOST_SITES] if site.score >= scores[best[0]] / 2]


def _messages(parts: QueryParts) -> Iterator[_Message]:
    """Yield the messages of a query."""
    for error in parts.errors[:MOST_MESSAGES]:
        yield _Message(error)
    if parts.errors:
        return
    for text in _logged(parts):
        yield _Message(ErrorMessage(text), PROBABLE_SHARE)
    for text in (_LABEL.sub("", parts.written_title), *parts.quotes[:MOST_MESSAGES]):
        if _ASKS.match(text):
            continue
        fails, is_filled = _FAILURE.search(text), bool(_FILLED.search(text))
        if fails and not _MAY_ASK.match(text):
            yield _Message(ErrorMessage(text), PROBABLE_SHARE, is_certain=is_filled)
        elif fails or is_filled or _is_sentence(text):
            yield _Message(ErrorMessage(text), math.inf)
        elif len(text.split()) in LABEL_WORDS:
            yield _Message(ErrorMessage(text), is_label=True)


def _is_sentence(text: str) -> bool:
    return text[:1].isupper() and len(text.split()) >= SENTENCE_WORDS


def _logged(parts: QueryParts) -> Iterator[str]:
    """Yield the messages of the first entries of a log."""
    lines = (line for log in parts.logs for line in log.splitlines())
    for entry in map(log_entry, itertools.islice(lines, MOST_MESSAGES)):
        if entry is not None:
            yield entry.message


def _weight(path: str) -> float:
    return REPEATING if _repeats(path) else 1.0


def _repeats(path: str) -> bool:
    return bool(repeating_kinds(path)) or is_catalog(path)


def site_hit(site: Site, definitions: Sequence[Definition]) -> Hit:
    """Return the place that makes a message as a hit, with its function, from the definitions of
    its file."""
    function = enclosing(definitions, site.first)
    if site.key:
        why = f"{'shows' if site.is_shown else 'has'} this text, `{site.key}`"
    elif _repeats(site.path):
        why = "repeats this message"
    else:
        verb = "logs" if site.logs else "raises" if site.raises else "has"
        why = f"{verb} this message"
    marks = dict.fromkeys(range(site.first, site.last + 1), MARK)
    symbol = function.qualified_name if function is not None else None
    return Hit(site.path, "passage", 0.0, why, site.first, site.last, symbol, marks=marks)
