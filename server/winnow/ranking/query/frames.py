"""Parse a line of a stack trace: the place in a file, and the function.

Every pattern is anchored or works on one token of a line, so that the time is linear in the length
of the line, whatever it contains.
"""

from __future__ import annotations

import re

from msgspec import Struct

from winnow.symbols.language import language_of


class Frame(Struct, frozen=True):
    """A place that a query names: a file, a line from 1, and the function if the text has it.

    ``path`` is as written, with ``/``, perhaps absolute on another machine. That of Java and Kotlin
    is made of the package: `org/example/Main.java`. ``function`` may be qualified. ``code`` is the
    text of the line, without indentation, if the trace has it.
    """

    path: str
    line: int
    function: str = ""
    code: str = ""


_PYTHON = re.compile(r'\s*File "([^"]+)", line (\d{1,7})(?:, in (.+))?')
# In short traces, and behind the lines of a function in long ones.
_PYTEST = re.compile(r"((?:[A-Za-z]:)?[^:]+\.pyi?):(\d{1,7}):(?: in (.+)| ?(\w*))")
_RUBY = re.compile(r"\s*(?:from |\d{1,4}: from )?((?:[A-Za-z]:)?[^\s:]+):(\d{1,7}):in [`'](.+)")
_PHP = re.compile(r"#\d{1,4} ([^()]+)\((\d{1,7})\): (.*)")
_PANICKED = re.compile(r"panicked at (?:'.*', )?(\S+)")
_PHP_UNCAUGHT = re.compile(r"in ((?:[A-Za-z]:)?[^\s:]+\.php)(?::| on line )(\d{1,7})")
_ELIXIR = re.compile(r"\s+(?:\([^()]{1,80}\) )?([^\s:]+\.[eh]\w{1,3}):(\d{1,7}): (\S.*)/\d")
_LUA = re.compile(r"\s*((?:[A-Za-z]:)?[^\s:]+\.lua):(\d{1,7}): in \w+ [<'](.+)")
_PERL = re.compile(r"\bat (\S+\.(?:p[lm]|t)) line (\d{1,7})\b")
_HASKELL = re.compile(r"\s*([\w.']+), called at (\S+\.hs):(\d{1,7})")
_FIREFOX = re.compile(r"([\w$.]*)(?:[/<*]{1,9})?@(\S+)")
_NUMBERED = re.compile(r"#\d{1,4}:? +(.+)")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+ (?:in |- )?")
_LIBRARY = re.compile(r" ~?\[[^\[\]]*\]$")
_TOKEN = re.compile(r"[^\s()\[\]{}'\"`,;=<>|]+")
_PLACE = re.compile(r"((?:[A-Za-z]:)?[^:]+):(\d{1,7})(?::\d{1,7})?(?::.*|-\d+)?:?")
# Microsoft's compilers put the line in brackets; people, Terraform and Ansible write "line".
_BRACKETED = re.compile(r"((?:[A-Za-z]:)?[^\s()\[\]:\"'`]+)\((\d{1,7})(?:,\d{1,7}){0,3}\)")
_IN_WORDS = re.compile(r"([^\s()\[\]:\"'`,]+)[\"'`]?(?:,|:)? ?(?:at |on )?line (\d{1,7})\b")
_ARROW = re.compile(r"(?:-->|:::) ")
_AFTER = re.compile(r"\+?0x|in\b|$")
_SCHEME = re.compile(
    r"file:(?://)?|(?:webpack|webpack-internal|rsc|app|ng|vite):/{1,3}|https?://[^/]+/"
)
_RUST_NUMBER = re.compile(r"\s*\d{1,4}: +(?:0x[0-9a-fA-F]+ - )?(.+)")
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
_GO_CALL = re.compile(r"(?:created by )?([\w./*()$\[\]-]+?)(?:\([^()]*\))?(?: in goroutine \d+)?$")
_LAMBDA = re.compile(r"lambda\$(\w+)\$\d+")
# Files that are compiled to JavaScript, by its file extension.
_SOURCES = {
    "js": ("ts", "tsx", "jsx"),
    "mjs": ("mts", "ts", "tsx"),
    "cjs": ("cts", "ts", "tsx"),
    "jsx": ("tsx",),
}


# A frame of a program without debug symbols, in .NET and in Rust.
_CALL_OF_NET = re.compile(r"at (?:async )?((?:[^\s.()/]+\.){1,20}\.?[^\s.()/]+)\(.*\)$")
_RUST_PATH = re.compile(r"\S*\w::\S")
# What compilers make of closures, coroutines and generic types.
_MADE_OF_NET = (
    (re.compile(r"<(\w+)>d__\d+\.MoveNext$"), r"\1"),
    (re.compile(r"\.<>\w+(?=\.)"), ""),
    (re.compile(r"<(\w+)>[bg]__\w.*"), r"\1"),
    (re.compile(r"\.\.c?ctor$|`\d+|\[[^\[\]]*\]"), ""),
    (re.compile(r"\+"), "."),
)
_IMPLEMENTED = re.compile(r"^<(\S+) as [^<>]+(?:<.*>)?>(?=::)")
_GENERIC = re.compile(r"<[^<>]*>|::\{\{?[\w#-]+\}\}?")


def call_of(line: str) -> str:
    """Return the qualified name in a frame that names no file; empty if it is no such frame."""
    text = line.strip()
    if found := _CALL_OF_NET.match(text):
        name = found[1]
        for pattern, plain in _MADE_OF_NET:
            name = pattern.sub(plain, name)
        return name
    found = _RUST_NUMBER.match(text)
    return rust_name(found[1]) if found and _RUST_PATH.match(found[1]) else ""


def rust_name(function: str) -> str:
    """Return the name of a function of Rust without closures, type arguments and the trait."""
    name = _RUST_HASH.sub("", function.strip())
    return _GENERIC.sub("", _IMPLEMENTED.sub(r"\1", name))


def frame_of(line: str, before: str = "") -> Frame | None:
    """Return the place that a line of a stack trace or a message of a compiler names, or None.

    ``before`` is the line before it, which names the function in some languages.
    """
    if found := _PYTHON.match(line):
        return _frame(found[1], found[2], (found[3] or "").strip())
    text = line.strip()
    if text.startswith("at "):
        return _after_at(text[3:], before)
    if found := _PYTEST.fullmatch(text):
        return _frame(found[1], found[2], found[3] or "")
    if arrow := _ARROW.match(text):
        return _of_token(text[arrow.end() :], "")
    if text.startswith("#") and (numbered := _NUMBERED.match(text)):
        return _after_number(text, numbered[1])
    if found := _RUBY.match(line):
        name = re.split(r"['`]", found[3], maxsplit=1)[0].rpartition(" in ")[2]
        return _frame(found[1], found[2], "" if name.startswith("<") else name)
    if found := _ELIXIR.match(line):
        return _frame(found[1], found[2], found[3].rpartition(" in ")[2])
    if found := _LUA.match(line):
        name = re.split(r"[>']", found[3], maxsplit=1)[0]
        return _frame(found[1], found[2], "" if ":" in name else name)
    if (found := _PERL.search(text)) or (found := _PHP_UNCAUGHT.search(text)):
        return _frame(found[1], found[2])
    if found := _HASKELL.match(line):
        return _frame(found[2], found[3])
    if (found := _FIREFOX.match(text)) and (place := _place(found[2])):
        return Frame(*place, found[1])
    if found := _PANICKED.search(text):
        return Frame(*place) if (place := _place(found[1])) else None
    return _of_token(text, before)


def is_of_python(line: str) -> bool:
    """Return True for a frame as Python or pytest prints it, after the frames that called it."""
    text = line.strip()
    return text.startswith('File "') or bool(_PYTEST.fullmatch(text))


def ends_trace(line: str) -> bool:
    """Return True for the deepest frame in a trace of pytest, which follows the message."""
    found = _PYTEST.fullmatch(line.strip())
    return bool(found and found[4])


def sources_of(path: str) -> list[str]:
    """Return the files that may be compiled to a file of JavaScript."""
    stem, dot, ending = path.rpartition(".")
    return [f"{stem}{dot}{each}" for each in _SOURCES.get(ending, ())]


def places_in(text: str) -> list[Frame]:
    """Return the places that a text names as `file.py:12`, `file.cs(12,5)` or `file.py line 12`."""
    tokens = dict.fromkeys(_TOKEN.findall(text)) if ":" in text else ()
    places = [place for token in tokens if (place := _source_place(token))]
    for pattern in (_BRACKETED, _IN_WORDS) if "(" in text or "line " in text else ():
        numbered = (f"{path}:{line}" for path, line in pattern.findall(text))
        places += filter(None, map(_source_place, numbered))
    return [Frame(*place) for place in dict.fromkeys(places)]


def _source_place(token: str) -> tuple[str, int] | None:
    place = _place(token) if ":" in token else None
    return place if place and language_of(_name(place[0])) else None


def _of_token(text: str, before: str) -> Frame | None:
    """Return the place that begins a line, perhaps behind the name of a program: `file.go:12`."""
    if found := _BRACKETED.match(text):
        place = _source_place(f"{found[1]}:{found[2]}")
        return Frame(*place) if place else None
    first, *others = text.split(None, 2)
    place = _source_place(first)
    if place is None and first.endswith(":") and others:
        first, *others = others
        place = _source_place(first)
    # Otherwise it is a sentence.
    if place is None or not (first.endswith(":") or _AFTER.match("".join(others[:1]))):
        return None
    is_go = place[0].endswith(".go") and (called := _GO_CALL.fullmatch(before.strip()))
    return Frame(*place, called[1].rpartition("/")[2] if is_go and called else "")


def _after_at(rest: str, before: str) -> Frame | None:
    """Parse what follows "at": JavaScript, Java, Kotlin, C#, and Rust's second line of a frame."""
    rest = _LIBRARY.sub("", rest)
    if ":line " in rest:
        function, _, where = rest.rpartition(" in ")
        path, _, number = where.rpartition(":line ")
        return _frame(path, number, function.partition("(")[0])
    if not rest.endswith(")"):
        rust = _RUST_NUMBER.match(before)
        place = _place(rest.removeprefix("async "))
        return Frame(*place, _RUST_HASH.sub("", rust[1]) if rust else "") if place else None
    function, _, where = rest[:-1].rpartition("(")
    place = _place(where)
    if place is None:
        return None
    if function.endswith(" ") or "/" in place[0]:
        return Frame(*place, _script_function(function.strip()))
    return _of_module(function, *place)


def _script_function(function: str) -> str:
    function = function.removeprefix("async ").removeprefix("new ").partition(" [as ")[0]
    return "" if function.endswith("<anonymous>") else function.removeprefix("Object.")


def _of_module(function: str, name: str, line: int) -> Frame:
    """Return a frame of the JVM, which has the module and the name of the file."""
    *package, owner, method = ["", "", *function.rpartition("/")[2].split(".")]
    inner = [part for part in owner.split("$") if part and not part.isdigit()]
    found = _LAMBDA.fullmatch(method)
    method = found[1] if found else method
    is_own = method.startswith("<")  # a constructor, or the code of a class
    parts = inner[-1:] if is_own else [*inner[-1:], method]
    return Frame("/".join([*filter(None, package), name]), line, ".".join(parts))


def _after_number(line: str, rest: str) -> Frame | None:
    """Parse a numbered line: PHP, gdb, sanitizers, Dart."""
    if found := _PHP.match(line):
        return _frame(found[1], found[2], found[3].partition("(")[0])
    rest = _ADDRESS.sub("", rest, count=1)
    if rest.endswith(")") and (place := _place(rest[:-1].rpartition("(")[2])):
        return Frame(*place, rest.rpartition("(")[0].strip())
    function, at, where = rest.rpartition(" at ")
    if not at:
        function, _, where = rest.rpartition(" ")
    place = _place(where)
    return Frame(*place, function.partition("(")[0].strip()) if place else None


def _place(text: str) -> tuple[str, int] | None:
    """Return the path and the line of `path:12`, `path:12:5` or an URL of this form."""
    text = _SCHEME.sub("", text, count=1) if ":" in text[1:20] else text
    found = _PLACE.fullmatch(text)
    if found is None or "." not in found[1]:
        return None
    frame = _frame(found[1], found[2])
    return (frame.path, frame.line) if frame else None


def _frame(path: str, line: str, function: str = "") -> Frame | None:
    path = path.partition("?")[0].replace("\\", "/")
    if not path or path.startswith("<") or not line.isdecimal():
        return None
    return Frame(path, int(line), function)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
