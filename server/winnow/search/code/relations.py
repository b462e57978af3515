"""Read questions about a name: "who calls X", "where is X set", "subclasses of X", and about tests.

Only the form of the question is read. The name is looked up later, because a word that nothing
defines is an ordinary word of a question.
"""

from __future__ import annotations

import os
import re
from typing import Literal

import msgspec
from msgspec import Struct

from winnow.index.postings.terms import parts_of, stem

RelationKind = Literal[
    "definitions", "calls", "uses", "tests", "writes", "imports", "subclasses", "callees"
]

# In longer questions, the name is one of many words.
_MOST_CHARACTERS = 200


class Relation(Struct, frozen=True):
    """The name in a question, and what the question asks about it. If it ``is_certain``, the name
    is written as only code is, as `load_all` and `loadAll`; `GitHub` may be prose. If it
    ``is_module``, the question calls it a module, which may be a file. A question for definitions
    may ask for the uses, too: ``also_uses``."""

    kind: RelationKind
    name: str
    is_certain: bool
    is_module: bool = False
    also_uses: bool = False


_PART = r"~?[^\W\d][\w$]*"
_KIND = (
    "(?:function|method|class|type|struct|interface|trait|enum|macro|constant|constructor|variable|"
    "field|property|attribute|module|component|hook|decorator)"
)


# What people call a name that need not be a symbol.
_SETTING = "(?:environment variable|env var|variable|setting|option|parameter|column|output)"


def _written(name: str, quotes: str) -> str:
    """Return a pattern for a name with what a question may put around it."""
    return (
        rf"(?P<the>the )?(?P<before>{_KIND} )?(?:{_SETTING} )?(?P<quote>[{quotes}]?)"
        rf"(?P<name>{name})(?P<call>\(\))?[{quotes}]?(?P<after> {_KIND})?(?: {_SETTING})?"
    )


_NAMED = _written(rf"{_PART}(?:(?:\.|::?|->|#){_PART})*", "`")
# Modules have further names: `find-my-way`, `@scope/name`, `sys/stat.h`.
_MODULE = _written(r"@?\w(?:[\w.:/-]*\w)?", "`'\"<>")
# The forms of verbs: as in "who calls", "where do we call" and "where is it called"; then nouns.
_FORMS: dict[RelationKind, tuple[str, str, str, str]] = {
    "definitions": (
        "defines|declares|overrides",
        "define|declare|override",
        "defined|declared|implemented|overridden",
        "definitions?|declarations?|overrides?|defaults?|(?:default )?values?",
    ),
    "calls": (
        "calls|calling|invokes|invoking|instantiates|constructs|creates|creating",
        "call|invoke|instantiate|construct|create",
        "called|invoked|instantiated|constructed|created",
        "callers?|calls?|call ?sites?|invocations?|instances?",
    ),
    "uses": (
        "uses|using|references|referencing|depends on|reads|reading|accesses",
        "use|reference|read|access",
        "used|referenced|read|accessed|checked",
        "uses?|usages?|references?|users?|dependents?",
    ),
    "writes": (
        "sets|assigns|modifies|mutates|writes to",
        "set|assign|modify|mutate|write to",
        "set|assigned|modified|mutated|written",
        "assignments?",
    ),
    "imports": (
        "imports|importing|includes|including",
        "import|include",
        "imported|included",
        "imports?|importers?",
    ),
    "subclasses": (
        "extends|extending|implements|implementing|subclasses|inherits from|derives from",
        "extend|implement|subclass|inherit from|derive from",
        "extended|subclassed",
        "subclasses|implementations?|implementers?|implementors?|derived (?:classes|types)",
    ),
}
FIND = r"(?:(?:find|show|list|get)(?: me)? )?(?:all )?(?:the )?"
_OF = r"(?:(?:what|where) (?:is|are) )?"
# What happens is in the code that reads the name.
_UNSET = (
    rf"what (?:happens |if )(?:if |when )?{_NAMED} is(?:n't| not| never)? "
    r"(?:defined|disabled|empty|enabled|false|given|missing|null|set|true|undefined|unset)"
)
# What a change breaks, and the way of a value, are where its name is used.
_CHANGES = "(?:chang|delet|modif|mov|remov|renam|replac)"
_AFFECTED = (
    r"(?:what|which(?: \w+)?)(?: else)? (?:can |could |may |might |will |would )?"
    r"(?:breaks?|fails?|(?:is|are|be|gets?) (?:affected|broken)) (?:if|when)"
)
_FOLLOWED = (
    rf"{_AFFECTED} (?:i |we |you )?{_CHANGES}(?:e|ed|y|ied) {_NAMED}",
    rf"{_AFFECTED} {_NAMED} (?:is |was |were )?{_CHANGES}(?:es|ed|ies|ied)",
    rf"(?:what is the )?(?:effects?|impact) of {_CHANGES}(?:y)?ing {_NAMED}",
    rf"how (?:does|do|is) {_NAMED} (?:reach|get to|(?:passed|propagated) to) .+",
)
# A question for the definition of a name, and for its uses as well.
_ALSO_USED = re.compile(
    r",? and (?:(?:how|where) (?:is|are) (?:it|they) )?"
    r"(?:called|checked|read|referenced|used)[?.!]?\Z",
    re.I,
)
# Renaming a symbol changes its definition and its uses.
_RENAMED = re.compile(rf"rename {_NAMED}(?: (?:in|to) \S+)?", re.I)
_SUBJECT = r"(?:who|what|which(?: \w+)?|functions|methods|classes|types|files|code|places)"
_END = r"(?: anywhere| in (?:this|the) \w+| from)?[?.!]?"
# A word in lower case is a name after these, but may be prose after "who uses".
_OF_CODE = re.compile(r"\b(?:calls?|called|callers?|callees|calling|imports?|invok|subclass)", re.I)
# Lines that import a module, in most languages; the last are the lines of a list in Go.
_IMPORTS = (
    r"^\s*(?:pub |export |static )*(?:@?import|use|using|require\w*|include\w*|extern crate|alias)"
    r"\b.*\b{0}\b",
    r"^\s*#\s*(?:include|import)\b.*\b{0}\b",
    r"^\s*from\s+[\w./]*\b{0}\b.*\bimport\b",
    r"\bfrom\s+['\"][^'\"]*\b{0}\b",
    r"\b(?:require|import|library|source)\s*\(\s*['\"]?[^'\"()]*\b{0}\b",
    r"^\s*(?:[\w.]+\s+)?\"[^\"\s]*\b{0}(?:/v\d+)?\"\s*$",
)


def _patterns(kind: RelationKind) -> list[str]:
    third, plain, participle, nouns = _FORMS[kind]
    named = _MODULE if kind == "imports" else _NAMED
    return [
        rf"{FIND}{_SUBJECT} (?:else |all |is |are |that |which )?(?:{third}|{plain}) {named}",
        rf"{FIND}(?:every)?where(?: else)? (?:is |are |does )?{named} (?:is |are |being |gets? )?"
        rf"(?:{participle})",
        rf"where do(?:es)? \w+ (?:{plain}) {named}",
        rf"is {named} (?:still |ever )?(?:{participle})",
        rf"{_OF}{FIND}(?:{nouns}) (?:of|to|for) {named}",
    ]


_CALLEES = (
    rf"(?:what|which(?: \w+)?) (?:does|do) {_NAMED} (?:call|invoke)",
    rf"{FIND}(?:callees of|functions (?:that are )?called by) {_NAMED}",
)
_TESTS = (
    rf"{FIND}(?:which |what )?(?:unit )?tests? (?:that |which )?"
    rf"(?:call|cover|exercise|test|use)s? {_NAMED}",
    rf"{FIND}(?:unit )?tests? (?:for|of) {_NAMED}",
    rf"(?:how|where|is) (?:is )?{_NAMED} (?:\w+ )?(?:tested|covered(?: by tests?)?)",
)
_RELATIONS: list[tuple[RelationKind, re.Pattern[str]]] = [
    *(("callees", re.compile(pattern + _END, re.I)) for pattern in _CALLEES),
    *(("tests", re.compile(pattern + _END, re.I)) for pattern in _TESTS),
    *(("uses", re.compile(pattern + _END, re.I)) for pattern in (_UNSET, *_FOLLOWED)),
    *((kind, re.compile(pattern + _END, re.I)) for kind in _FORMS for pattern in _patterns(kind)),
]
_NAME_FIRST: list[tuple[RelationKind, re.Pattern[str]]] = [
    (kind, re.compile(rf"{_NAMED} (?:{nouns}){_END}", re.I))
    for kind, (_, _, _, nouns) in _FORMS.items()
]
# What may be tested need not be a name: "where are the tests for cookies".
_KINDS_OF_TESTS = (
    r"acceptance|all|api|browser|e2e|end-to-end|existing|functional|integration|regression|smoke|ui|"
    r"unit"
)
_KIND_OF_TEST = rf"(?:(?:{_KINDS_OF_TESTS}) )?"
_TOPIC = rf"(?:the |an? )?(?P<topic>.+?)(?: (?:{_KIND}|command|file|package|page|plugin)s?)?"
_TESTED = [
    re.compile(pattern + r"[?.!]?", re.I)
    for pattern in (
        rf"(?:{FIND}|where (?:are|is) (?:the )?){_KIND_OF_TEST}tests (?:for|of|about|covering|"
        rf"that (?:cover|exercise|check|test)) {_TOPIC}",
        rf"(?:which|what) {_KIND_OF_TEST}tests? (?:cover|exercise|check|test)s? {_TOPIC}",
        rf"what do(?:es)? (?:the )?{_KIND_OF_TEST}tests? (?:for|of|about|covering) {_TOPIC}"
        r" (?:assert|check|cover|test|verify)",
        rf"(?:how|where) (?:is|are) {_TOPIC} tested",
        rf"where are (?!(?:the )?(?:{_KINDS_OF_TESTS}) tests){_TOPIC} tests",
    )
]
# The stems of the words that say that a file is a test.
_TEST_WORDS = {"featur", "spec", "test"}
# A name of several words, such as `NewClient`.
_HUMPS = re.compile(r"[a-z][A-Z]")
_CODE_NAME = re.compile(r"[_.:$#>~/@-]|^[a-z]+[A-Z]")


def relation_of(text: str) -> Relation | None:
    """Return what a text asks about a name, or None."""
    if len(text) > _MOST_CHARACTERS:
        return None
    if also := _ALSO_USED.search(text):
        first = relation_of(text[: also.start()])
        return first and msgspec.structs.replace(first, also_uses=first.kind == "definitions")
    if (renamed := _RENAMED.fullmatch(text)) and _is_name(renamed, text):
        # A single word, such as `Record`, is in too many other texts.
        is_certain = _is_certain(renamed) or bool(_HUMPS.search(renamed["name"]))
        return Relation("definitions", renamed["name"], is_certain, also_uses=True)
    for kind, pattern in _RELATIONS:
        found = pattern.fullmatch(text)
        if found is not None and _is_name(found, text):
            is_module = "module" in (found["before"] or found["after"] or "").lower()
            return Relation(kind, found["name"], _is_certain(found), is_module)
    for kind, pattern in _NAME_FIRST:
        found = pattern.fullmatch(text)
        # "GitHub users" are people, and "API calls" a topic.
        if found is not None and (_is_certain(found) or _is_class(kind, found["name"])):
            return Relation(kind, found["name"], _is_certain(found))
    return None


def imports_of(name: str) -> str:
    """Return a regular expression for the lines that import a module."""
    escaped = re.escape(name.lstrip("@"))
    return "|".join(pattern.format(escaped) for pattern in _IMPORTS)


def topic_of_tests(text: str) -> str:
    """Return what a question wants the tests of; empty for other texts."""
    if len(text) > _MOST_CHARACTERS // 2:
        return ""
    found = (pattern.fullmatch(text) for pattern in _TESTED)
    return next((match["topic"] for match in found if match), "")


def is_named_after(path: str, topic: str) -> bool:
    """Return True if a test has the words of a topic as its name, or as that of its folder if it
    has none of its own, as `cache/tests.py`."""
    folder, name = os.path.split(path)
    if not _TEST_WORDS & _stems(name):
        return False
    named = _stems(name.partition(".")[0]) - _TEST_WORDS
    named = named or _stems(os.path.basename(folder)) - _TEST_WORDS
    return named == _stems(topic) - _TEST_WORDS


def _stems(text: str) -> set[str]:
    return {stem(part.lower()) for part in parts_of(text)}


def _is_certain(found: re.Match[str]) -> bool:
    return bool(found["quote"] or found["call"] or _CODE_NAME.search(found["name"]))


def _is_class(kind: RelationKind, name: str) -> bool:
    return kind == "subclasses" and not name.islower()


def _is_name(found: re.Match[str], text: str) -> bool:
    """Return True if the form of a word, or what is around it, tells that it is a name."""
    if found["before"] or found["after"] or found["quote"] or found["call"]:
        return True
    if not (found["name"].isalpha() and found["name"].islower()):
        return True
    return not found["the"] and bool(_OF_CODE.search(text.replace(found["name"], "")))
