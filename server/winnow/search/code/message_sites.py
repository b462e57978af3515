"""Find the places in the workspace that make the messages of a query, best first."""

from __future__ import annotations

import asyncio
import functools
import itertools
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set

import msgspec
from msgspec import Struct

from winnow.ranking.query.errors import ErrorMessage, is_of_runtime
from winnow.ranking.query.logs import log_entry
from winnow.ranking.query.parts import QueryParts
from winnow.search.answer.hits import CurrentTexts
from winnow.search.code.catalog_uses import with_uses
from winnow.search.code.definitions import MARK, name_around
from winnow.search.code.message_catalogs import is_catalog
from winnow.search.code.message_files import (
    ASIDE,
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
    MESSAGE_CHARACTERS,
    MOST_TERMS,
    MatchedText,
    Site,
    longest_part,
    phrases,
    quoted_terms,
    sites_in,
    source_terms,
    with_placeholder,
)
from winnow.search.code.ranked_text import files_with
from winnow.symbols.file_symbols import Definition
from winnow.text.scope import Scope
from winnow.types import Hit, Progress
from winnow.workspace import EngineWorkspace

# Returns the paths of the best files for a query, best first.
BestFiles = Callable[[], Awaitable[Sequence[str]]]

MOST_MESSAGES = 3
# Lines of a report that a program may have printed, and the least number of words of one in a code
# block.
MOST_PRINTED, PRINTED_WORDS = 6, 2
# The least words of a report that has a message within a sentence, and the files to read for it.
WITHIN_WORDS, WITHIN_FILES = 6, 25
# A code block lists properties of the machine if it has so many, and no more other lines.
LEAST_PROPERTIES = 3
MOST_SITES = 5
# A message that is not reported as an error must be mostly text of the source.
PROBABLE_SHARE = 0.7
# Tests, documents, and code that neither raises nor logs must have this share of a message: names
# in it are strings elsewhere, too.
SILENT_SHARE = 0.5
# Such a message is looked up in the index, by its most telling terms.
PROBABLE_TERMS, PROBABLE_FILES = 6, 50
# The files to read for strings with a placeholder in place of a word.
VALUE_FILES = 20
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
# "When I save …" and "why do I see …" may have a message within.
_ASKS_HOW = re.compile(r"(?:how|what|where|which|who)\b", re.I)
# A line of code, or a command at a prompt.
_CODE = re.compile(r"(?:[$>#%] |>>>|[^\w\[(\"'<]).*|.*[{};=,(]\s*$|.*\w\(.*")
# The place in front of a message: `docs/index.rst:4:`.
_PLACE = re.compile(r"^[^\s:]+:\d{1,7}:(?:\d{1,7}:)? ?")
# A property of the machine, such as `Python version: 3.11`.
_PROPERTY = re.compile(r"[A-Z][\w ]{1,30}:\s")
# "Is the file open?", but also "can call this only once" and "no such name; did you mean …?"
_MAY_ASK = re.compile(r"(?:is|are|does|do|can|should)\b(?!'t| not)|.*\?$", re.I)


class _Message(Struct, frozen=True, dict=True):
    """A message of a query, and the least share of it that the source must have, unless a string
    of the source makes it or a part of it. If it ``is_certain`` that it is a message, it is worth a
    search of all files. If it ``is_label``, a string that is no test's must have nearly all of
    it. It may be a report that the message ``is_within``."""

    error: ErrorMessage
    least: float = 0.0
    is_certain: bool = False
    is_label: bool = False
    is_within: bool = False

    @property
    def is_likely(self) -> bool:
        """True if it is probably a message, worth a further search: a sentence, or reported as an
        error."""
        text = self.error.text
        is_reported = not self.is_label and self.least < math.inf
        return text.endswith((".", "!")) or (is_reported and (not self.least or text[0].isupper()))

    @functools.cached_property
    def wholes(self) -> Sequence[str]:
        """The whole text of a label, and the part that has nearly all of it."""
        text = self.error.text.rstrip(END)
        part = longest_part(text)
        return [text, part] if len(part) >= LABEL_SHARE * len(text) else [text]

    @functools.cached_property
    def terms(self) -> Sequence[str]:
        """Texts to search for, of which the source has some."""
        if self.is_within:
            return phrases(self.error.text)
        found = source_terms(self.error.text)
        if self.is_label:
            return list(dict.fromkeys([*self.wholes, *found[:LABEL_TERMS]]))
        return found or (quoted_terms(self.error.text) if self.error.kind else [])


async def find_sites(
    workspace: EngineWorkspace,
    scope: Scope,
    parts: QueryParts,
    best_files: BestFiles,
    progress: Progress,
) -> list[Site]:
    """Return the places that make the messages of a query, those of the first message first.
    Messages within the sentences of a report are looked for in the ``best_files`` for it."""
    messages = [
        each
        for each in _messages(parts, is_indexed=knows_texts(workspace, scope))
        if not is_of_runtime(each.error.text)
    ]
    if not messages:
        return []
    texts = CurrentTexts(scope, workspace.buffers)
    width = workspace.config.limits.line_characters

    def best_sites(
        message: _Message, files: Mapping[str, Set[str]], terms: Sequence[str]
    ) -> list[Site]:
        return _best_sites(message, matched_texts(texts, files, terms, _weight, width))

    best = await best_files() if any(message.is_within for message in messages) else ()
    async with workspace.search_slots:
        files = await _files(workspace, scope, messages, best, progress)
        of_messages: list[list[Site]] = [[] for _ in messages]
        if files:
            of_messages = await asyncio.to_thread(
                lambda: [best_sites(message, files, message.terms) for message in messages]
            )
    found: list[Sequence[Site]] = []
    for message, sites in zip(messages, of_messages, strict=True):
        further: Sequence[Site] = ()
        if not any(site.makes and not _repeats(site.path) for site in sites):
            strings = await _with_placeholder(workspace, scope, texts, message, progress)
            terms = list(dict.fromkeys(itertools.chain.from_iterable(strings.values())))
            if terms:
                further = await asyncio.to_thread(best_sites, message, strings, terms)
        found.append(await _with_code(workspace, scope, texts, message, [*further, *sites]))
    all_sites = list(itertools.chain.from_iterable(found))
    if sum(map(bool, found)) > 1:
        # Code that has one of the messages precedes what only resembles or repeats another one.
        all_sites.sort(key=_has_message, reverse=True)
    return _distinct(all_sites)


def _distinct(sites: Iterable[Site]) -> list[Site]:
    """Return the sites without those that overlap an earlier one: the title of a report may quote
    a message that is also in its text."""
    found: list[Site] = []
    for site in sites:
        if not any(
            site.path == other.path and site.first <= other.last and other.first <= site.last
            for other in found
        ):
            found.append(site)
    return found


async def _with_placeholder(
    workspace: EngineWorkspace,
    scope: Scope,
    texts: CurrentTexts,
    message: _Message,
    progress: Progress,
) -> Mapping[str, Set[str]]:
    """Return the texts in files that may make a short message with a value for one of its words,
    in lower case and by path."""
    pattern = with_placeholder(message.error.text) if message.is_likely else ""
    if not pattern:
        return {}
    paths: Iterable[str]
    if knows_texts(workspace, scope):
        paths = await indexed_files_with(
            *(workspace, scope, [pattern], VALUE_FILES, _weight), literal=False
        )
    else:
        found = await files_with(workspace, scope, f"(?i){pattern}", progress, literal=False)
        paths = [hit.path for hit in found.hits[:VALUE_FILES]]
    in_text = re.compile(pattern.encode())

    def strings() -> dict[str, set[str]]:
        return {
            path: {
                text[0].decode("utf-8", "replace")
                for text in in_text.finditer((texts.data(path) or b"").lower())
            }
            for path in paths
        }

    return await asyncio.to_thread(strings)


def _has_message(site: Site) -> bool:
    return site.score >= PROBABLE_SHARE and not _repeats(site.path)


def _reports(site: Site) -> bool:
    return (site.raises or site.logs) and not _repeats(site.path)


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
    shown = await with_uses(workspace, scope, texts, in_catalogs) if in_catalogs else []
    # A label that no code shows says nothing.
    if message.is_label and not any(site.is_shown for site in shown):
        return others
    return [*shown, *others]


async def _files(
    workspace: EngineWorkspace,
    scope: Scope,
    messages: Sequence[_Message],
    best: Sequence[str],
    progress: Progress,
) -> Mapping[str, Set[str]]:
    """Return the files that may have terms of some messages, with these terms, by path. One within
    a sentence may be in the ``best`` files: trigrams would name all large files."""
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
        elif is_indexed and message.is_within:
            files = [path for path in best if ASIDE.isdisjoint(repeating_kinds(path))]
            known = dict.fromkeys(files[:WITHIN_FILES], frozenset(message.terms))
        elif is_indexed and message.least and not message.is_certain:
            terms = message.terms[:PROBABLE_TERMS]
            known = await indexed_files_with(workspace, scope, terms, PROBABLE_FILES, _weight)
        add(known)
        is_doubtful = message.is_label or (is_indexed and message.least == math.inf)
        # The index names no files if too many may have the words of a message.
        if not (known or is_doubtful):
            searched |= dict.fromkeys(message.terms[:MOST_TERMS])
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
    sites = [
        site
        for text in texts
        for site in sites_in(text, error.text, error.kind, is_within=message.is_within)
        if not (site.is_comment and "test" in repeating_kinds(site.path))
    ]
    repeating = {path for path in {site.path for site in sites} if _repeats(path)}
    if message.is_label:
        sites = [
            msgspec.structs.replace(site, is_label=True)
            for site in sites
            if site.makes
            and (site.path not in repeating or is_catalog(site.path))
            and site.same >= LABEL_SHARE * len(error.text)
        ]
    if message.is_within:
        sites = [site for site in sites if ASIDE.isdisjoint(repeating_kinds(site.path))]
        longest = max((site.same for site in sites if site.makes), default=0)
        sites = [site for site in sites if site.makes and site.same == longest]
    scores = {site: site.score * (REPEATING if site.path in repeating else 1.0) for site in sites}
    # What repeats a message comes after the code that makes it.
    last = repeating if any(site.makes and site.path not in repeating for site in sites) else ()
    best = sorted(
        (site for site in sites if site.makes or site.score >= _least_score(message, site)),
        key=lambda site: (
            *(site.path in last, -scores[site], -site.same),
            *(by_length(site.path) if site.path in repeating else (0, False, site.path)),
            site.first,
        ),
    )
    return [site for site in best[:MOST_SITES] if site.score >= scores[best[0]] / 2]


def _least_score(message: _Message, site: Site) -> float:
    """Return the least score of a place whose strings do not make the message."""
    return message.least if _reports(site) else max(message.least, SILENT_SHARE)


def _messages(parts: QueryParts, *, is_indexed: bool) -> Iterator[_Message]:
    """Yield the messages of a query. Only an index finds those within prose."""
    errors = parts.errors[:MOST_MESSAGES]
    yield from map(_Message, errors)
    if not errors:
        yield from (_Message(ErrorMessage(text), PROBABLE_SHARE) for text in _logged(parts))
    # Reports quote labels to tell what somebody did.
    may_be_label = not (errors or parts.prose or parts.code)
    title = _LABEL.sub("", parts.written_title)
    texts = dict.fromkeys([title, *parts.quotes[:MOST_MESSAGES]])
    found = [_message(text, may_be_label=may_be_label) for text in texts]
    found += _within(title, () if errors or not is_indexed else parts.prose)
    printed = (text for text in _printed(parts) if text not in texts)
    # "Warning, treated as error" says less than the line below it.
    longest_first = sorted(itertools.islice(printed, MOST_PRINTED), key=len, reverse=True)
    found += [_message(text, is_printed=True) for text in longest_first]
    reported = [error.text for error in errors if error.text]
    for message in found:
        if message and not any(text in message.error.text for text in reported):
            yield message


def _message(text: str, *, is_printed: bool = False, may_be_label: bool = False) -> _Message | None:
    """Return the message that a text may be; None if it is none. A program probably printed it if
    it ``is_printed``."""
    if _ASKS.match(text) and not text.endswith("."):
        return None
    error = ErrorMessage(text)
    fails, is_filled = _FAILURE.search(text), bool(_FILLED.search(text))
    if fails and not _MAY_ASK.match(text):
        return _Message(error, PROBABLE_SHARE, is_certain=is_filled)
    if fails or is_filled or is_printed or _is_sentence(text):
        return _Message(error, math.inf)
    is_label = may_be_label and len(text.split()) in LABEL_WORDS
    return _Message(error, is_label=True) if is_label else None


def _within(title: str, prose: Sequence[str]) -> Iterator[_Message]:
    """Yield a report that may have a message within a sentence: "The page shows Group not found
    when I save". A question has none, unless it asks why there is one."""
    told = " ".join([*(() if _ASKS_HOW.match(title) else (title,)), *prose])
    if len(told.split()) >= WITHIN_WORDS:
        yield _Message(ErrorMessage(told), math.inf, is_within=True)


def _printed(parts: QueryParts) -> Iterator[str]:
    """Yield lines of a report that a program may have printed: in quotes and code blocks, and
    paragraphs of one line that are probably messages."""
    for paragraph in parts.prose:
        lines = paragraph.splitlines()
        quoted = [line.lstrip("> ") for line in lines if line.startswith(">")]
        if not quoted and len(lines) == 1 and _may_be_message(lines[0]):
            quoted = lines
        yield from quoted
    for block in parts.code:
        lines = [_PLACE.sub("", line.strip(), count=1) for line in block.splitlines()]
        others = [text for text in lines if not _PROPERTY.match(text) or _FAILURE.search(text)]
        is_list = len(lines) - len(others) >= max(LEAST_PROPERTIES, len(others))
        for text in others if is_list else lines:
            if len(text.split()) >= PRINTED_WORDS and not _CODE.fullmatch(text):
                yield text


def _may_be_message(text: str) -> bool:
    return len(text) <= MESSAGE_CHARACTERS and bool(_FAILURE.search(text) or _FILLED.search(text))


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
    """Return the place that makes a message as a hit, with its score and its function, from the
    definitions of its file."""
    symbol = name_around(definitions, site.first)
    if site.key:
        why = f"{'shows' if site.is_shown else 'has'} this text, `{site.key}`"
    else:
        verb = "logs" if site.logs else "raises" if site.raises else "has"
        if _repeats(site.path):
            verb = "repeats"
        is_this = site.makes or site.score >= PROBABLE_SHARE
        noun = "text" if site.is_label and verb == "has" else "message"
        why = f"{verb} {'this' if is_this else 'a similar'} {noun}"
    marks = dict.fromkeys(range(site.first, site.last + 1), MARK)
    return Hit(site.path, "passage", site.score, why, site.first, site.last, symbol, marks=marks)
