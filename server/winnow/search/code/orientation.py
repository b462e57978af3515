"""Read questions for documents: "how do I run the tests", "where is the cache documented".

Documents answer them, such as a README: code has the same words for other reasons.
:mod:`winnow.search.code.entry_points` answers where a program starts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# The file extensions of documents.
_ENDINGS = ("md", "mdx", "rst", "adoc", "txt")
# Documents, and the files that list the commands of a project.
GUIDES = (
    *("README*", "readme*", "Readme*", "CONTRIBUTING*", "contributing*", "Contributing*"),
    *("INSTALL*", "HACKING*", "BUILDING*", "DEVELOPMENT*", "DEVELOPING*", "TESTING*", "AGENTS.md"),
    # Those of folders build parts of the project.
    *("/Makefile", "/makefile", "/GNUmakefile", "/justfile", "/Taskfile.*", "/magefile.go"),
    *("/noxfile.py", "/package.json", "/tox.ini"),
    *(
        f"/doc*/**/*{topic}*.{ending}"
        for topic in ("build", "contribut", "develop", "install", "setup", "start", "test")
        for ending in _ENDINGS
    ),
)
# Documents about the parts of a project.
DOCUMENTS = (
    *("README*", "readme*", "Readme*"),
    *(f"**/doc*/**/*.{ending}" for ending in _ENDINGS),
)
# Documents that describe a project as a whole.
OVERVIEWS = (
    *("/README*", "/readme*", "/Readme*", "ARCHITECTURE*", "architecture*", "/AGENTS.md"),
    *(
        f"/doc*/**/{topic}*.{ending}"
        for topic in (
            "about",
            "architecture",
            "design",
            "how-it-works",
            "index",
            "intro",
            "overview",
        )
        for ending in _ENDINGS
    ),
)
_DONE = "(?:added|changed|introduced|modified|removed)"
_HISTORY = re.compile(
    rf"(?:what|which \w+) (?:has |have |was |were )?(?:(?:recently|last) {_DONE}\b|{_DONE} (?:.+ )?"
    r"(?:recently|lately|since|last week|this week|today|yesterday)\b)"
    r"|(?:show |list |find )?(?:me )?(?:the )?(?:recent|latest|last) (?:changes|commits)"
    r"(?: (?:in|of|on|to)\b|[?.!]?\Z)"
    rf"|(?:when|who) (?:was |were )?(?:.+ )?last {_DONE}\b"
    rf"|when (?:was|were) .+ {_DONE}[?.!]?\Z|who wrote\b",
    re.I,
)
# Images, tags and addresses in Markdown and reStructuredText: their words are no sentences.
_MARKUP = re.compile(r"!\[[^\]]*\]|<[^<>]*>|\]\([^()]*\)|\bhttps?:\S+|\.\. [^:]*::.*|:\w+: .*")
_WORD = re.compile(r"[^\W\d_]{2,}")
_SENTENCE_WORDS = 6
READ_LINES = 200
_READ_CHARACTERS = 1_000
_INTRODUCTION_LINES = 12
# The topic of documents that say what a project is.
INTRODUCTION = "introduction"
# The name of the function with which most programs start.
MAIN = "main"
_MOST_CHARACTERS = 100
_ASKING = (
    r"(?:how (?:to|do (?:i|we|you)|can (?:i|we)|should (?:i|we)) |"
    r"(?:instructions?|steps|commands?) (?:for|to) )"
)
_VERB = (
    r"(?:(?:build|compile|contribute|debug|deploy|develop|install|launch|lint|release|run|start|"
    r"test)(?:[gnt]?ing)?|set ?up|setting up)"
)
_OBJECT = (
    r"(?:app|application|binary|browser|code ?base|container|contribution|database|"
    r"dev(?:elopment)? (?:environment|server)|docker|docs|documentation|environment|frontend|"
    r"backend|image|it|linters?|locally|program|project|repo|repository|server|source|suite|tests?|"
    r"this|website)"
)
_BEFORE = (
    r"(?:a|all|an|e2e|end-to-end|for|from|in|integration|just|local|my|of|on|only|one|single|the|to|"
    r"unit|with)"
)
_IN = (
    r"(?:in|on|with|for|from|using) (?:a )?(?:docker|windows|linux|mac ?os|source|podman|vs ?code)"
)
_GUIDED = re.compile(
    rf"{_ASKING}({_VERB}(?: (?:and|or) {_VERB})?(?: {_BEFORE}){{0,3}}(?: {_OBJECT}){{0,2}}"
    rf"(?: {_IN})?)[?.!]?",
    re.I,
)
# Without "how to", code may be about the same: "start the server".
_CERTAIN = re.compile(
    r"run(?:ning)? (?:all )?(?:the )?(?:unit |integration )?tests|build(?:ing)? from source|"
    r"getting started|quick ?start|(?:development|dev|project) setup|contribution guide(?:lines)?",
    re.I,
)
_PROJECT = (
    r"(?:app|application|code ?base|framework|library|package|program|project|repo|repository|"
    r"service|software|tool|website)"
)
_THIS = rf"(?:this|the) {_PROJECT}"
_ABOUT = re.compile(
    rf"what (?:does|is) {_THIS}(?: (?:do|about|for|used for))?|what is this(?: about)?|"
    rf"how does {_THIS} work|(?:describe|explain|summari[sz]e) {_THIS}|overview of {_THIS}|"
    rf"(?:the )?{_PROJECT} overview",
    re.I,
)
_STRUCTURE = re.compile(
    rf"(?:how is )?(?:(?:the|this) )?(?:{_PROJECT}|system|software|high-level|overall) "
    rf"(?:architecture|structure|structured|layout|organi[sz]ation|organi[sz]ed)|"
    rf"(?:the )?(?:architecture|structure)(?: overview| of {_THIS})",
    re.I,
)
_DOCUMENTED = re.compile(
    r"where (?:is|are) (?:the )?(.+) documented"
    r"|(?:where (?:is|are) )?(?:the )?(?:docs|documentation) (?:about|for|of|on) (?:the )?(.+)",
    re.I,
)
_START = re.compile(
    r"(?:(?:what|where)(?:'s| is| are) )?(?:the )?(?:main )?entry ?points?"
    r"(?: (?:of|to|in|for) (?:the|this) \w+)?\??|(?:the )?main function\??|where is main\??|"
    r"where does (?:the|this)? ?(?:app|application|code|execution|it|program|project|server) "
    r"(?:begin|start)(?: up)?\??",
    re.I,
)


def asks_for_start(text: str) -> bool:
    """Return True if a text asks where the program starts."""
    return len(text) <= _MOST_CHARACTERS and bool(_START.fullmatch(text))


def asks_for_history(text: str) -> bool:
    """Return True if a text asks what changed, when, or who changed it, which no file tells."""
    return len(text) <= _MOST_CHARACTERS and _HISTORY.match(text) is not None


def guided_topic(text: str) -> str:
    """Return what a question asks a guide about, such as "run the tests"; empty for other texts."""
    text = text.strip()
    if len(text) > _MOST_CHARACTERS:
        return ""
    if _CERTAIN.fullmatch(text):
        return text
    found = _GUIDED.fullmatch(text)
    return found[1] if found else ""


def documented_topic(text: str) -> str:
    """Return the topic of a question about where something is documented; empty for other texts."""
    text = text.strip(" ?.!")
    found = _DOCUMENTED.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    return found[1] or found[2] if found else ""


def overview_topic(text: str) -> str:
    """Return the words of the documents that answer what a project is, or how it is built; empty
    for other texts."""
    text = text.strip(" ?.!")
    if len(text) > _MOST_CHARACTERS:
        return ""
    if _ABOUT.fullmatch(text):
        return INTRODUCTION
    return "architecture overview" if _STRUCTURE.fullmatch(text) else ""


def introduction(lines: Sequence[str]) -> range:
    """Return the first lines of a README that say something in sentences, from 1: before them are
    often images and links. Without sentences, these are the first of all."""
    lines = [line[:_READ_CHARACTERS] for line in lines[:READ_LINES]]
    first = next((at for at in range(len(lines)) if _is_prose(lines, at)), 0)
    most = min(first + _INTRODUCTION_LINES, len(lines))
    end = next((at for at in range(first + 1, most) if _is_heading(lines, at)), most)
    while end > first + 1 and not lines[end - 1].strip():
        end -= 1
    return range(first + 1, end + 1)


def _is_prose(lines: Sequence[str], at: int) -> bool:
    if _is_heading(lines, at) or lines[at].lstrip().startswith(("-", "|", "*[")):
        return False
    return len(_WORD.findall(_MARKUP.sub(" ", lines[at]))) >= _SENTENCE_WORDS


def _is_heading(lines: Sequence[str], at: int) -> bool:
    """Return True for a line with the marks of a heading, before it or below it."""
    is_underlined = at + 1 < len(lines) and lines[at + 1].startswith(("==", "--"))
    return is_underlined or lines[at].lstrip().startswith("#")
