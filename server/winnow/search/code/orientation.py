"""Read questions of newcomers about a project itself: "how do I run the tests", "entry point".

Guides answer the first, such as a README: code has the same words for other reasons.
:mod:`winnow.search.code.entry_points` answers the other.
"""

from __future__ import annotations

import re

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
        for ending in ("md", "mdx", "rst", "adoc", "txt")
    ),
)
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
    r"(?:development|dev|project) setup|contribution guide(?:lines)?",
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


def guided_topic(text: str) -> str:
    """Return what a question asks a guide about, such as "run the tests"; empty for other texts."""
    text = text.strip()
    if len(text) > _MOST_CHARACTERS:
        return ""
    if _CERTAIN.fullmatch(text):
        return text
    found = _GUIDED.fullmatch(text)
    return found[1] if found else ""
