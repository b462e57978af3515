"""Read message catalogs: files that have the texts a program shows, by key.

Android has them in `strings.xml`, .NET in `.resx`, Java in `.properties`, Apple in `.strings`,
Rails in YAML, web applications in JSON or in modules, often one file for each language. The code
has only the key: `t("errors.too_big")`, `R.string.too_big`. In those of gettext, XLIFF and Qt, the
key is the text in the language of the source.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence

from winnow.index.postings.terms import parts_of
from winnow.text.html_references import unescaped

# How far above a text its element may begin.
ELEMENT_LINES = 4
# How far above a translation its source may be: XLIFF has the places that use it between them.
UNIT_LINES = 100
# Keys around a text that count, from the inside.
MOST_PARTS = 8
# Lines above a text that may have the keys around it.
MOST_LINES = 20_000
# The beginning of a line that has the key.
MOST_COLUMNS = 500
# Characters of a text that the code has in one piece: it may be on several lines.
MOST_CHARACTERS = 40

# Modules of an application that is about languages, such as those of Django.
_APPLICATION = "admin|apps|forms?|helpers?|models?|permissions|tests?|urls|utils?|views?|viewsets"
_CATALOG = re.compile(
    r"\.(?:json[5c]?|ya?ml|toml|ini|properties|xml|res[xw]|strings|xcstrings|arb|ftl|xlf|xliff|po)$"
    r"|(?:^|/)(?:locales?|i18n|l10n|intl|lang|languages?|translations?|messages)"
    rf"(?:/(?:.*/)?|\.)(?!(?:{_APPLICATION})\.)[^/]*\.(?:[cm]?[jt]s|php|rb|py|lua|dart|exs?|clj)$"
    r"|(?:^|/)(?:locales?|i18n|l10n|lang|messages)\.[cm]?[jt]s$",
    re.I,
)
_ELEMENT = re.compile(r"<([\w:-]+)\s[^<>]*\b(?:name|key|id|resname)\s*=\s*[\"']([\w.:/-]+)[\"']")
# `R.string.name` and `@string/name` name the element, too.
_NAMED_BY_TAG = frozenset(("string", "plurals"))
_CONTENT = re.compile(r">([^<>]+)<")
# Between the tags of a template: `{% plural %}Correct the errors.{% endtranslate %}`.
_BETWEEN_TAGS = re.compile(r"[%}]\}([^{}<>]+)(?=\{[%{]|<)")
# In a tag that may be in quotes itself: `value="{% translate 'Save' %}"`.
_TAG = re.compile(r"\{[%{][^{}]*[%}]\}")
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_MARKUP = re.compile(
    r"\.(?:[jt]sx|vue|svelte|astro|x?html?|erb|ejs|hbs|mustache|jinja2?|j2|twig|php|jsp|cshtml|razor"
    r"|xaml|heex|leex|eex|haml|slim)$",
    re.I,
)
_TEMPLATE = re.compile(
    r"(?:^|/)(?:app|components?|layouts?|pages|partials|src|templates?|views?|web|www)/.*\.html?$"
)
_DOCUMENTS = re.compile(r"(?:^|/)(?:docs?|documentation)/", re.I)
# Laravel's `:attribute`, which other code has in strings for other reasons.
_PLACEHOLDER = re.compile(r"(?<!\S):[a-z]\w*")
# What looks up a key that is one word.
_LOOK_UP = (
    r"(?<![A-Za-z])(?i:t|tr|trans\w*|i18n|l10n|localize\w*|get(?:String|Message|Text|_text)|__?|lang)"
    r"\s?[(\[]\s?[\"'`:]"
)
# No key has a colon, so that a line is read once. In an address, what is in front is no key.
_KEY = re.compile(r"(\s*)[\"']?(\w[\w./-]*)[\"']?\s*(?:=>|[:=])(?!\S*//)\s*(.*)")
# gettext's, on one line or several.
_SOURCE = re.compile(r"msgid ")
_STRING = re.compile(r"\"(.*)\"$")
# XLIFF's and Qt's. An element in a text is a value. The name of a unit is a key if it has several
# parts: most are numbers.
_TRANSLATION = re.compile(r"\s*<(?:target|translation)\b")
_OPENS = re.compile(r"\s*<[^/!]")
_TRANSLATED = re.compile(r"\s*<source\b[^<>]*>([^<>]+)")
_UNIT = re.compile(r"\s*<(?:trans-unit|unit|message)\b")
_UNIT_NAME = re.compile(r"\b(?:resname|id|name)=\"([^\W\d]\w*(?:[./-]\w+)+)\"")
_CLOSED = " \t,;\"'`"


@functools.lru_cache(4096)
def is_catalog(path: str) -> bool:
    """Return True if a file may be a message catalog, judged by its path."""
    return bool(_CATALOG.search(path))


def is_template(path: str) -> bool:
    """Return True if a file of HTML may be a part of the program, not a document."""
    return bool(_TEMPLATE.search(path)) and not _DOCUMENTS.search(path)


def texts_without_quotes(path: str, line: str) -> Iterator[str]:
    """Yield the texts of a line that need not be in quotes: the content of elements, also on a line
    of its own, and the values of a catalog."""
    for content in _CONTENT.findall(line):
        yield unescaped(content)
    if _MARKUP.search(path):
        yield unescaped(line.strip())
        for content in _BETWEEN_TAGS.findall(line):
            yield unescaped(content)
        for tag in _TAG.findall(line):
            yield from map("".join, _QUOTED.findall(tag))
    if is_catalog(path) and (keyed := _KEY.match(line)):
        yield _PLACEHOLDER.sub("{}", keyed[3].strip(_CLOSED))


def key_of(path: str, lines: Sequence[str], number: int) -> tuple[str, ...]:
    """Return the key of the text on a line of a catalog, from 1, by its parts: those of the
    mappings around it first, or the name of its element, as in `R.string.name`. Empty if it has
    none."""
    if path.endswith(".po"):
        return _text_of_source(lines, number)
    if _TRANSLATION.match(lines[_opening(lines, number)]):
        return _translated(lines, number)
    above = range(number - 1, max(-1, number - 1 - ELEMENT_LINES), -1)
    for at in above:
        if element := _ELEMENT.search(lines[at][:MOST_COLUMNS]):
            tag, name = element.groups()
            return (tag, name) if tag in _NAMED_BY_TAG else (name,)
        if "<" not in lines[at]:
            break
    parts: list[str] = []
    least = float("inf")
    for at in range(number - 1, max(-1, number - 1 - MOST_LINES), -1):
        keyed = _KEY.match(lines[at][:MOST_COLUMNS])
        if keyed is None or len(keyed[1].expandtabs()) >= least:
            if not parts and at == number - 1:
                return ()
            continue
        least = len(keyed[1].expandtabs())
        parts.insert(0, keyed[2])
        if not least or len(parts) == MOST_PARTS:
            break
    return tuple(parts)


def in_one_piece(key: Sequence[str]) -> tuple[str, ...]:
    """Return a key as it is on a line of code: of a text, which is its own key, the beginning."""
    *around, last = key
    return (*around, last[:MOST_CHARACTERS].strip()) if " " in last else (*around, last)


def _opening(lines: Sequence[str], number: int) -> int:
    """Return the index of the line on which the element of a text begins, if it has one."""
    for at in range(number - 1, max(-1, number - 1 - ELEMENT_LINES), -1):
        if _OPENS.match(lines[at]):
            return at
    return number - 1


def _text_of_source(lines: Sequence[str], number: int) -> tuple[str, ...]:
    """Return the first line of the text that a line of gettext's catalog translates."""
    first = next((at for at in range(number - 1, -1, -1) if _SOURCE.match(lines[at])), None)
    if first is None:
        return ()
    text = ""
    for line in itertools.islice(lines, first, first + ELEMENT_LINES):
        piece = _STRING.match(line.removeprefix("msgid "))
        if piece is None:
            break
        text += piece[1]
    beginning = text.split("\\n")[0].strip()
    return (beginning,) if beginning else ()


def _translated(lines: Sequence[str], number: int) -> tuple[str, ...]:
    """Return the name of the unit of a translation, or the first line of what it translates."""
    source = ""
    for at in range(number - 1, max(-1, number - 1 - UNIT_LINES), -1):
        if found := _TRANSLATED.match(lines[at]):
            source = unescaped(found[1]).strip()
        if _UNIT.match(lines[at]):
            named = _UNIT_NAME.search(lines[at][:MOST_COLUMNS])
            return (named[1],) if named else (source,) if source else ()
    return ()


def spellings(name: str) -> list[str]:
    """Return the last part of a key, and how functions that are made from a catalog spell it if it
    has hyphens: `tr.save_all`, `tr.saveAll`."""
    if " " in name:
        return [name]
    first, *others = name.split("-")
    camel = first + "".join(map(str.capitalize, others))
    return list(dict.fromkeys([name, name.replace("-", "_"), camel]))


def has_text_of(line: str, last: str) -> bool:
    """Return True if a line of a catalog has the text of a key, by its last part."""
    element, keyed = _ELEMENT.search(line[:MOST_COLUMNS]), _KEY.match(line[:MOST_COLUMNS])
    return last in (element and element[2], keyed and keyed[2])


def patterns_of(key: Sequence[str], stem: str) -> Iterator[tuple[re.Pattern[str], bool]]:
    """Yield regular expressions for how code may write a key, the most exact first, and whether
    only keys are written like this. ``stem`` is the name of the catalog without its ending.

    The first parts may be a language, or added elsewhere. A last part alone has several words, or
    is looked up by a function of translations.
    """
    for at in range(-1, len(key) - 1):
        parts = [stem, *key] if at < 0 else key[at:]
        if len(parts) > 1:
            written = "[.:/]".join(map(re.escape, parts))
            yield re.compile(rf"(?<!\w){written}(?![\w-])"), True
    last = re.escape(key[-1])
    if " " in key[-1]:
        yield re.compile(last), True
    elif len(parts_of(key[-1])) > 1:
        spelled = "|".join(map(re.escape, spellings(key[-1])))
        yield re.compile(rf"(?<![\w-])(?:{spelled})(?![\w-])"), False
    elif len(key) == 1:
        yield re.compile(rf"{_LOOK_UP}{last}[\"'`]"), True
