"""Classify queries: as a file, a symbol, text, or a question about meaning.

This looks nothing up. A query may have several readings, the likeliest first: `foo.do` is a file, a
member of `foo`, or text. A search uses the first reading that finds something, and reports it.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec
from msgspec import Struct

from winnow.config.globs import GLOB_CHARACTERS, InvalidGlob, glob_regex
from winnow.index.postings.terms import UNSPACED, words
from winnow.ranking.query.frames import sources_of
from winnow.ranking.query.parts import BLOB, parse_query
from winnow.search.answer.telling_words import MOST_TEXT
from winnow.search.code.message_catalogs import spellings
from winnow.search.code.named_tests import named_test, title_of_test
from winnow.search.code.orientation import MAIN, asks_for_start
from winnow.search.code.relations import Relation, RelationKind, imports_of, relation_of
from winnow.search.code.routes import Request, request_in, request_to, routes_of
from winnow.search.code.surveys import survey_of
from winnow.symbols.language import language_of
from winnow.symbols.search.query import parse, without_packages
from winnow.text.ripgrep import escaped

# A longer query is not a name, path or pattern that a user types. The time to classify it grows
# with the cube of its length.
MOST_CHARACTERS = 300

LAST_PART = "it is the last part of a name"
WORD = "it is a word"
HYPHENATED = "it may be the name of a file"
COMPILED = "it may be compiled from this file"
DEFINITIONS = "it asks for definitions"

SearchType = Literal["file", "symbol", "text", "semantic"]
RouteLines = Literal["declared", "named"]


class QueryReading(Struct, frozen=True):
    """A reading of a query: the search, what to search for, and why.

    Text that is not ``literal`` is a regular expression: as written, or for lines in which a
    ``route`` is declared, or only named. A file whose path is its route serves the ``request``.
    ``line`` is the line that a path names, from 1. With a ``relation``, the wanted places are not
    those that define the symbol, but those that use it; if it ``is_start``, those where a program
    starts. Definitions that begin with the keyword ``definer`` come first.
    """

    search: SearchType
    wanted: str
    why: str
    literal: bool = True
    line: int | None = None
    route: RouteLines | None = None
    request: Request | None = None
    relation: Relation | None = None
    is_start: bool = False
    definer: str = ""


_HYPHENATED = re.compile(r"\w+(?:-\w+)+")
# File extensions without code, besides those of languages.
_OTHER_FILES = frozenset(
    """
    avro bak bin bmp bz2 cert cfg conf config crt csv dat db diff doc docx dockerfile dylib egg env
    eot epub example exe gif gitignore gz ico ini ipynb jar jpeg jpg json json5 jsonc jsonl key lock
    log map markdown md mdx mo mp3 mp4 odp ods odt otf parquet patch pdf pem plist png po ppt pptx
    properties proto pyi rar rst rtf sample service so sqlite svg tar template tgz tmpl toml tsv ttf
    txt wasm wav webp whl woff woff2 xls xlsx xml xz yaml yml zip zst
    """.split()
)
_FILES_WITHOUT_ENDING = frozenset(
    """
    authors brewfile build changelog codeowners contributing copying dockerfile gemfile gnumakefile
    jenkinsfile justfile kconfig kbuild license makefile manifest notice owners pipfile procfile
    rakefile readme vagrantfile version workspace
    """.split()
)

_RELATIONS: dict[RelationKind, str] = {
    "definitions": DEFINITIONS,
    "calls": "it asks for callers",
    "uses": "it asks for uses",
    "tests": "it asks for tests",
    "writes": "it asks for assignments",
    "imports": "it asks for imports",
    "subclasses": "it asks for subclasses",
    "callees": "it asks for called functions",
}
_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "‘": "’", "«": "»", "「": "」"}
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+|www\.\S+|mailto:\S+", re.I)
_LOCAL = re.compile(r"https?://(?:localhost|127\.|0\.0\.0\.0|\[::1?\])")
_LINE = re.compile(
    r"(?::(\d{1,9})(?::\d{1,9})?(?:[-–]\d{1,9})?|#L(\d{1,9})(?:-L?\d{1,9})?|\((\d{1,9})(?:,\d{1,9})?\)):?\Z"
)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
# The characters of a path, except globs.
_PATH = re.compile(
    r"[\w.@~+%$*?\[\]{},!=-]*(?:[\\/]+[\w.@~+%$*?\[\]{},!=()-]*)+|[\w.@~+*?\[\]{},!-]+"
)
# What only regular expressions have: classes, anchors, repetitions of any character, alternatives.
_REGEX = re.compile(
    r"\\[wWdDsSbBpP.()\[\]{}|*+?^$]|\.[*+](?:\?|\b|[^\w\s.]|\Z)|(?<!\w)\.[*+]|\[\^|"
    r"\[[^\]\s]*\w-\w[^\]\s]*\]|\][*+?{]|\)[*+?]|\(\?[:=!<imsx]|\{\d+,\d*\}|"
    r"\([^()\s|]+(?:\|[^()\s|]+)+\)|\w\+\\|^\^\S|\S\$\Z"
)
_CHOICE = re.compile(r"[\w.:-]+(?:\|[\w.:-]+)+")
_SLASHED = re.compile(r"/(.+)/[gimsuy]{0,4}")
# `foo.*` means files, unless no file has such a name.
_ANY_ENDING = re.compile(r"[\w-]+\.\*")

_OPTION = re.compile(r"--([A-Za-z]\w+(?:[-.]\w+)*)(?:=.*)?")
# What people write around an option that they ask about. The name of the program may be there, too.
_ABOUT_OPTIONS = frozenset(
    """
    a an and argument checked cli code command declared default defined do documented does effect
    flag for handle handled handles how implement implemented implements in is it line mean means of
    option parameter parse parsed parses process processed read set setting switch that the to used
    value what where which work works
    """.split()
)
_AROUND = "`'\",.?"
_NAME = r"[^\W\d][\w$]*[?!]?"
_SYMBOL = re.compile(rf"\$?{_NAME}(?:(?:\.|::|->|#)~?{_NAME})*(?:\.|::)?", re.S)
# A name of PHP. A path of Windows may look alike.
_NAMESPACED = re.compile(r"\\?[A-Z]\w+(?:\\[A-Z]\w+)+\\?(?:(?:::|->)\$?\w+(?:\(\))?)?")
_MEMBER = re.compile(rf"{_NAME}(?:\.{_NAME})+")
_CALL = re.compile(rf"(\$?{_NAME}(?:(?:\.|::|->|#)~?{_NAME})*)\(\)")
# A resource of Android, as code and as other resources name it.
_RESOURCE = re.compile(r"(?:[\w.]+\.)?R\.([a-z]+)\.(\w+)|@\+?([a-z]+)/(\w+)")
# Resources that are files.
_FILE_RESOURCES = frozenset(
    "anim animator drawable font layout menu mipmap navigation raw xml".split()
)
_CALLED = re.compile(r"\w\(")
_GENERIC = re.compile(rf"({_NAME}(?:(?:\.|::){_NAME})*)<[\w\s,.:<>?&*\[\]]+>")
_MARKER = re.compile(r"(?:TODO|FIXME|XXX|HACK|BUG|NOTE|WIP|DEPRECATED)\b[:!]?", re.I)
_PLAIN_WORD = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile(UNSPACED)

# A keyword that starts a definition, and what may follow it in code but not in English.
_DEFINERS = re.compile(
    r"(?:(?:pub|export|public|private|static|async|abstract|final)\s+)*"
    r"(class|def|defp|defmodule|defmacro|enum|fn|fun|func|function|impl|interface|macro_rules!|"
    r"module|namespace|package|protocol|record|struct|trait|type|typedef|union|const|let|var|val|"
    r"#define)\s+"
    rf"({_NAME}(?:(?:\.|::){_NAME})*)\s*(?:[(<{{:=].*)?",
    re.S,
)
_METHOD_OF_GO = re.compile(
    rf"func\s+\((?:\w+\s+)?\*?({_NAME})(?:\[[^\[\]]*\])?\)\s*({_NAME})\s*(?:[(\[{{].*)?", re.S
)
_ONLY_CODE = frozenset(
    "def defp defmodule defmacro fn func impl macro_rules! struct typedef #define".split()
)
_QUESTION = re.compile(
    r"(?:how|what|where|when|which|who|whose|why|does|do|is|are|can|could|should|would|will|find|"
    r"show|explain|list|describe|locate|tell|give|code|wie|was|wo|warum|welche\w*|wann|comment|où|"
    r"pourquoi|quel\w*|cómo|dónde|qué|por|cuándo|como|onde|где|как|что|почему|когда|какой)\b",
    re.I,
)
# SQL has few signs, but its keywords are usually in capitals.
_SQL = (
    r"^(?:SELECT|INSERT\s+INTO|UPDATE|DELETE\s+FROM|(?:CREATE|ALTER|DROP)\s+(?:UNIQUE\s+)?"
    r"(?:TABLE|INDEX|VIEW|TRIGGER)|FROM|WHERE|(?:LEFT|RIGHT|INNER|OUTER|CROSS)\s+JOIN|JOIN|"
    r"(?:ORDER|GROUP)\s+BY)\s+\S|^select\s+[\w.*]+\s*,"
)
# Characters between words that are common in code, and rare in questions.
_CODE = re.compile(
    r"[!=<>+*/%&|^-]=|=>|->|::|&&|\|\||</|/>|\w\(|\w<\w[^<>]*>|\)\s*[:{]|[;{}]\s*\Z|\w\s=\s\S|^[#@]\w|"
    r"^(?:import|from|return|raise|throw|include|using|require)\s+\S+\s*(?:$|import\b|[\"'{<(;])|"
    rf"^(?:if|elif|while|for|not|assert|await|yield|del|return)\s+(?:not\s+)?{_MEMBER.pattern}:?$|"
    rf"{_SQL}"
)


def readings(query: str) -> list[QueryReading]:
    """Return the readings of a query that is not empty, the likeliest first. One is a text or
    semantic search, which accept any query; only the last part of a name may follow."""
    text = query.strip()
    if len(text) <= MOST_CHARACTERS and (test := named_test(text)):
        return [*_symbols(test, "it names a test"), *_readings(text)]
    if titled := _titled_test(text):
        return [titled, *_readings(text)]
    if routes := _declared(request_in(text), why := "it is an HTTP request"):
        return [*routes, QueryReading("semantic", text, why)]
    if asks_for_start(text):
        why = "it asks where the program starts"
        return [QueryReading("symbol", MAIN, why, is_start=True), *_readings(text)]
    if survey := survey_of(text):
        lines = QueryReading("text", survey.lines, survey.why, literal=False)
        return [lines, *_readings(text)]
    if relation := relation_of(text):
        return [*_related(relation), *_readings(text)]
    return _readings(text)


def _titled_test(text: str) -> QueryReading | None:
    """Return the reading of a failed test's output as the string with its title, if it names no
    place."""
    title = title_of_test(text.partition("\n")[0][:MOST_CHARACTERS])
    if not title or parse_query(text).frames:
        return None
    string = rf"[\"'`]{escaped(title)}[\"'`]"
    return QueryReading("text", string, "it names a test", literal=False)


def _related(relation: Relation) -> list[QueryReading]:
    """Return the readings of a question about a name: its uses, where it is defined if nothing
    uses it, and texts with it if nothing defines a name that only code has.

    A test of something need not use it, a module may be a file, not a definition, and most modules
    that are imported are not in the workspace.
    """
    why, name, kind = _RELATIONS[relation.kind], relation.name, relation.kind
    found: list[QueryReading] = []
    if kind != "definitions":
        found.append(QueryReading("symbol", name, why, relation=relation))
    if kind == "imports":
        found.append(QueryReading("text", imports_of(name), why, literal=False))
    if kind == "definitions" or not (kind == "tests" or relation.is_module):
        found.append(_symbol(name, why))
    if kind != "tests" and relation.is_certain:
        # Texts with a name are where it is defined, then where it is used.
        found.insert(0 if relation.also_uses else len(found), QueryReading("text", name, why))
    return found


def _declared(request: Request | None, why: str) -> list[QueryReading]:
    """Return the readings of a request: its declarations, the files whose path is its route, then
    other lines that name its route."""
    if request is None or not (routes := routes_of(request)):
        return []
    *declared, named = (QueryReading("text", each, why, literal=False) for each in routes)
    return [
        *(msgspec.structs.replace(each, route="declared") for each in declared),
        QueryReading("file", request.path, why, request=request),
        msgspec.structs.replace(named, route="named"),
    ]


def _readings(text: str) -> list[QueryReading]:
    if why := _error(text):
        return [QueryReading("semantic", text, why)]
    if len(text) > MOST_CHARACTERS:
        is_text = " " not in text and len(text) <= MOST_TEXT
        return [QueryReading("text" if is_text else "semantic", text, "it is long")]
    inner = text[1:-1].strip() if len(text) > 2 and text[0] == text[-1] == "`" else ""
    if inner and "`" not in inner:
        return readings(inner)
    quoted = _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]
    if quoted and text[1:-1].strip():
        return [QueryReading("text", text[1:-1], "it is in quotes")]
    if len(text.split()) > 1:
        return _several_words(text)
    return _one_word(text)


def _error(text: str) -> str:
    """Return which form of an error or a log a query has; empty for none."""
    if not re.search(r"\s", text):
        return ""
    parts = parse_query(text)
    if len(parts.frames) > 1 or len(parts.calls) > 1:
        return "it has a stack trace"
    if parts.errors:
        return "it has an error message"
    has_title = re.search(r"\w", parts.title)
    return "it is from a log" if parts.logs and not has_title else ""


def as_pattern(text: str, why: str) -> QueryReading:
    """Return a text search: literal, unless the text looks like a regular expression."""
    return QueryReading("text", text, why, literal=not _is_regex(text))


def _several_words(text: str) -> list[QueryReading]:
    if option := _asked_option(text):
        about = QueryReading("text", _spelled(option), "it is about an option of a command")
        return [about, QueryReading("semantic", text, about.why)]
    if setting := _asked_setting(text):
        about = QueryReading("text", _spelled_setting(setting), "it is about a setting")
        return [about, QueryReading("semantic", text, about.why)]
    is_question = bool(_QUESTION.match(text)) or text.endswith(("?", "？"))
    meaning = QueryReading(
        "semantic", text, "it is a question" if is_question else "it is several words"
    )
    if is_question:
        return [meaning]
    if method := _METHOD_OF_GO.fullmatch(text):
        symbol = _symbol(f"{method[1]}.{method[2]}", "`func` begins a definition")
        return [symbol, QueryReading("text", text, "it reads like code"), meaning]
    if _is_regex(text):
        return [_regex(text), meaning]
    defined = _DEFINERS.fullmatch(text)
    if defined and (defined[1] in _ONLY_CODE or not _is_plain(defined[2])):
        why = f"`{defined[1]}` begins a definition"
        symbol = QueryReading("symbol", defined[2], why, definer=defined[1])
        return [symbol, QueryReading("text", text, "it reads like code"), meaning]
    if _is_spaced_path(text):
        return [QueryReading("file", text, "it is a path"), meaning]
    if _CODE.search(text):
        return [QueryReading("text", text, "it reads like code"), meaning]
    return [meaning]


def _one_word(text: str) -> list[QueryReading]:
    as_text = QueryReading("text", text, "it is one word")
    if text.lower().startswith("file:"):
        return [QueryReading("file", text, "it is the URI of a file"), as_text]
    if option := _OPTION.fullmatch(text):
        return [QueryReading("text", _spelled(option[1]), "it is an option of a command")]
    if _URL.fullmatch(text):
        files = [
            QueryReading(
                "file", path, "it is the address of a file", line=int(line) if line else None
            )
            for path, line in BLOB.findall(text)
        ]
        why = "it is an address"
        literal, routes = [QueryReading("text", text, why)], _declared(request_to(text), why)
        if files:
            return [*files, *literal]
        # An address of this machine is that of the program itself.
        return [*routes, *literal] if _LOCAL.match(text) else [*literal, *routes]
    if resource := _RESOURCE.fullmatch(text):
        of_android = _resource(resource[1] or resource[3], resource[2] or resource[4])
        return [*of_android, *_symbols(text, "it has the form of a member"), as_text]
    if _NAMESPACED.fullmatch(text):
        name = text.strip("\\").removesuffix("()")
        found = [*_symbols(name, "it has the form of a name"), _path(text), as_text]
        return _with_last(name, [reading for reading in found if reading is not None])
    slashed = _SLASHED.fullmatch(text)
    if slashed and _is_regex(slashed[1]):
        return [QueryReading("text", slashed[1], "it is a regular expression", literal=False)]
    if _ANY_ENDING.fullmatch(text):
        return [QueryReading("file", text, "it is a glob pattern"), _regex(text)]
    if _is_glob(text):
        return [QueryReading("file", text, "it is a glob pattern"), as_text]
    if _is_regex(text) and not _DRIVE.match(text):
        return [_regex(text)]
    if path := _path(text):
        is_member = bool(_MEMBER.fullmatch(text))
        member = _symbols(text, "it has the form of a member") if is_member else []
        routes = _declared(request_to(text), "it may be the path of an HTTP request")
        is_place = "/" in path.wanted or path.line is not None
        sources = [
            QueryReading("file", source, COMPILED)
            for source in (sources_of(path.wanted) if is_place else ())
        ]
        as_path = [path, *sources, *member, *routes]
        if text.startswith("/") and not _has_ending(text):
            # A file of that name is rarely meant if there is such a route. The last four readings
            # have parameters in place of names, mounts, the paths of files, and other lines.
            likely = max(1, len(routes) - 4)
            as_path = [*routes[:likely], path, *routes[likely:]]
        return [*as_path, msgspec.structs.replace(as_text, wanted=path.wanted)]
    if _MARKER.fullmatch(text) and not text.islower():
        return [QueryReading("text", text, "it is a marker in comments")]
    if call := _CALL.fullmatch(text):
        return _with_last(call[1], [*_symbols(call[1], "it is the call of a function"), as_text])
    if generic := _GENERIC.fullmatch(text):
        return [_symbol(generic[1], "it is a type with its arguments"), as_text]
    if len(text) > 3 and _UNSPACED.search(text):
        return [QueryReading("semantic", text, "its script puts no spaces between words")]
    if _SYMBOL.fullmatch(text):
        why = WORD if _is_plain(text) else "it has the form of a name"
        # Ruby's methods may end with `!`, and Rust's macros are called with it.
        macro = [_symbol(text[:-1], "it is the call of a macro")] if text.endswith("!") else []
        return _with_last(text, [*_symbols(text, why), *macro, as_text])
    if _HYPHENATED.fullmatch(text):
        return [QueryReading("file", text, HYPHENATED), as_text]
    as_text = msgspec.structs.replace(as_text, why="it has signs that no name and no path has")
    # No text may contain `config("app.zone")`, but a passage may be about these words.
    plain = [word for word in words(text) if _PLAIN_WORD.fullmatch(word)]
    if len(plain) > 1 and _CALLED.search(text):
        return [as_text, QueryReading("semantic", " ".join(plain), "it is a call")]
    return [as_text]


def _asked_setting(text: str) -> str:
    """Return the only name with hyphens in a text that is about nothing else, or an empty text."""
    written = [word.strip(_AROUND) for word in text.split()]
    settings = [word for word in written if _HYPHENATED.fullmatch(word)]
    others = [word for word in written if word not in settings]
    is_about = len(settings) == 1 and _ABOUT_OPTIONS.issuperset(map(str.lower, others))
    return settings[0] if is_about else ""


def _spelled_setting(setting: str) -> str:
    """Return how code and files of settings spell the name of a setting, each on a line."""
    return f"\"{setting}\"\n'{setting}'\n{setting}\n{setting.replace('-', '_')}"


def _asked_option(text: str) -> str:
    """Return the name of the only option in a text that is about nothing else, or an empty text."""
    written = [word.strip(_AROUND) for word in text.split()]
    options = [found for word in written if (found := _OPTION.fullmatch(word))]
    others = [word for word in written if word[:2] != "--" and word.lower() not in _ABOUT_OPTIONS]
    return options[0][1] if len(options) == 1 and len(others) <= 1 else ""


def _spelled(option: str) -> str:
    """Return how code spells the name of an option, which it may read without the dashes, each on a
    line."""
    if option.isidentifier():  # a word is common elsewhere
        return f"--{option}\n\"{option}\"\n'{option}'"
    return "\n".join([f"--{option}", *spellings(option)])


def _resource(kind: str, name: str) -> list[QueryReading]:
    """Return the readings of a resource of Android: its file, or the lines that define and use
    it."""
    why = "it is a resource of Android"
    files = [QueryReading("file", f"{name}.*", why)] if kind in _FILE_RESOURCES else []
    lines = rf"\bname=\"{name}\"|@\+?{kind}/{name}\b|\bR\.{kind}\.{name}\b"
    return [*files, QueryReading("text", lines, why, literal=False)]


def _is_plain(word: str) -> bool:
    """Return True if a word is lower-case prose, without characters that only names have."""
    return bool(_PLAIN_WORD.fullmatch(word)) and word.islower()


def _symbol(name: str, why: str) -> QueryReading:
    return QueryReading("symbol", name, why)


def _symbols(name: str, why: str) -> list[QueryReading]:
    """Return the readings of a name: as it is, and without its packages."""
    inner = (term.whole for term in parse(name).terms for term in without_packages(term))
    return [_symbol(each, why) for each in (name, *inner)]


def _with_last(name: str, found: list[QueryReading]) -> list[QueryReading]:
    """Add the last part of a qualified name: what is before it may be a variable, or inherit it."""
    last = next((term.text for term in parse(name).terms if term.qualifiers), "")
    if not last or last in {reading.wanted for reading in found}:
        return found
    texts = [] if _PLAIN_WORD.fullmatch(last) else [QueryReading("text", last, LAST_PART)]
    return [*found, _symbol(last, LAST_PART), *texts]


def _regex(text: str) -> QueryReading:
    return QueryReading("text", text, "it has the signs of a regular expression", literal=False)


def _is_regex(text: str) -> bool:
    text = text[:MOST_CHARACTERS]
    return bool(_REGEX.search(text) or _CHOICE.fullmatch(text))


def _is_glob(text: str) -> bool:
    """Return True if it is a glob of files, judging by an extension or a folder."""
    if not GLOB_CHARACTERS.intersection(text) or not _PATH.fullmatch(text):
        return False
    if re.search(r"(?<!/)\.[*+]\w", text) or not _may_be_glob(text):
        return False
    name = re.split(r"[\\/]", text)[-1]
    star = "*" in text or "{" in text
    ends = re.search(r"\.(?:\w[\w-]*|\{[\w,]+\}|[\w?*]*\w[\w?*]*)\Z", name)
    return star and ("/" in text or bool(ends) or bool(re.fullmatch(r"[\w-]+\*|\*[\w-]+\*?", text)))


def _may_be_glob(text: str) -> bool:
    try:
        glob_regex(text)
    except InvalidGlob:
        return False
    return True


def _path(text: str) -> QueryReading | None:
    """Return the reading as a path or a file name; None if it is neither."""
    line = _LINE.search(text)
    bare = text[: line.start()] if line else text
    number = int(line[1] or line[2] or line[3]) if line else None
    if not bare or "::" in bare or "->" in bare:
        return None
    if _DRIVE.match(bare) or bare.startswith(("./", "../", "~/", ".\\", "..\\")):
        return QueryReading("file", bare, "it is a path", line=number)
    if not _PATH.fullmatch(bare) or not _may_be_glob(bare):
        return None
    name = re.split(r"[\\/]", bare)[-1]
    if "/" in bare:
        has_letters = re.search(r"[^\W\d]", bare)  # else it is a division, or a date
        return QueryReading("file", bare, "it is a path", line=number) if has_letters else None
    if "\\" in bare and (_has_ending(name) or bare.count("\\") > 1):
        return QueryReading("file", bare, "it is a path", line=number)
    if _is_file_name(name):
        return QueryReading("file", bare, "it has the form of a file name", line=number)
    return None


def _is_file_name(name: str) -> bool:
    if name.lower() in _FILES_WITHOUT_ENDING and not name.islower():
        return True
    if re.fullmatch(r"\.[a-z][\w-]*(?:\.[a-z]+)?", name):
        return True
    return _has_ending(name)


def _has_ending(name: str) -> bool:
    stem, dot, ending = name.rpartition(".")
    if not (dot and stem and ending):
        return False
    return ending.lower() in _OTHER_FILES or language_of(name) is not None


def _is_spaced_path(text: str) -> bool:
    """Return True if several words are one path: it has slashes and a file extension."""
    parts = re.split(r"[\\/]", text)
    return len(parts) > 1 and _has_ending(parts[-1]) and all(part.strip() == part for part in parts)
