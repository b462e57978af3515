"""Recognize error messages: what interpreters, compilers and logs print for an error.

Patterns are anchored and have no ambiguous repetitions, so that the time is linear.
"""

from __future__ import annotations

import re

from msgspec import Struct

from winnow.ranking.query.logs import is_log, log_entry


class ErrorMessage(Struct, frozen=True):
    """An error message, and the type of the error as written: `ValueError`, `std::out_of_range`."""

    text: str
    kind: str = ""


_NAME = r"[A-Za-z_$][\w$]*"
_TYPE = rf"\\?{_NAME}(?:(?:\.|::|\\|\$){_NAME})*"
_ERROR_TYPE = re.compile(
    r"(?:Error|Exception|Warning|Failure|Failed|Fault|Panic|Interrupt|Exit|NotFound|Timeout|"
    r"Denied|Invalid|Violation)\w{0,20}$"
)
# A class in a module. Its name says nothing: `requests.exceptions.MissingSchema`.
_IN_MODULE = re.compile(r"[a-z_]\w*(?:(?:\.|::)[a-z_]\w*)*(?:\.|::)[A-Z]\w*$")
# What a runtime puts before the type of an error. Each is tried once, in this order.
_PREFIXES = (
    re.compile(r"E   +"),
    re.compile(r"(?:PHP )?(?:Fatal|Parse|Recoverable fatal) error: +"),
    re.compile(
        r"(?:Uncaught|Unhandled)(?: exception| promise rejection| error)?[.:]? "
        r"(?:\(in promise\) )?",
        re.I,
    ),
    re.compile(r"Exception in thread \"[^\"]*\" "),
    re.compile(r"(?:Caused by|Suppressed|\[cause\]|\d{1,3} errors? occurred): "),
    re.compile(r"(?:Uncaught|Error:|Exception:) (?=\S+(?:Error|Exception)\b)"),
    re.compile(r"-+> "),
)  # fmt: skip
_TYPED = re.compile(rf"({_TYPE})(?: \[\w+\])?(?: \(\w+\))?:(?: (.*)|$)")
# In Rails' logs.
_TYPE_IN_FRONT = re.compile(rf"({_NAME}(?:::{_NAME})*(?:Error|Exception)) \((.+)\):?")
_ONLY_TYPE = re.compile(rf"({_TYPE})")
_ELIXIR = re.compile(r"\*\* \(([\w.]+)\) (.+)")
_RUBY = re.compile(r"\S+:\d{1,7}:in [`'][^`']*['`]: (.+) \(([\w:]+)\)$")
_LABELLED = re.compile(
    r"(?:[^\s:]{1,200}(?::\d{1,7}){0,2}: ){0,2}"
    r"(?:(?:fatal|internal|compile|runtime|script|syntax|thread \S{1,80}) ?)?"
    r"(?:error|fatal|panic|abort|exception)(?:\[\w{1,10}\]|\(\w{1,10}\))?: ?(.+)",
    re.I,
)
# A program and the number of the error: `curl: (6) Could not resolve host: example`.
_NUMBERED = re.compile(r"[\w.+-]{1,40}: [(\[]\d{1,5}[)\]] (.+)")
# Ansible's result of a task; not all have a message.
_FAILED_TASK = re.compile(
    r"(?:fatal|failed): \[[^\]]{1,200}\][^!]{0,200}(?:FAILED|UNREACHABLE)! => \{"
    r"(?:.*?\"msg\": \"((?:[^\"\\]|\\.)*)\")?"
)
_WHAT = re.compile(r"what\(\): +(.+)")
_TERMINATE = re.compile(r"terminate called after throwing an instance of '([^']+)'")
_ASSERTION = re.compile(r"[Aa]ssertion [`']?([^`']+)' failed")
_PANICKED = re.compile(
    r"thread '[^']*'(?: \(\d+\))? panicked at (?:'(.+)', )?\S+:\d{1,7}:\d{1,7}:?(?: (.+))?"
)
_PERL = re.compile(r"(\S.*?)(?<! called) at \S+\.(?:p[lm]|t) line \d{1,7}\b")
_LUA = re.compile(r"(?:luajit: |lua[\d.]{0,3}: )?\S+\.lua:\d{1,7}: (?!in )(.+)")
_IN_FILE = re.compile(r" in (?:[A-Za-z]:)?[^\s:]+\.php(?::\d{1,7}| on line \d{1,7})$")
# Messages of the runtimes of Python, JavaScript, Ruby and the JVM.
_OF_RUNTIME = re.compile(
    r"(?:type object |module |partially initialized module )?'[^']*'(?: object)? has no attribute '"
    r"|'[^']*' object (?:is not \w+|does not support |cannot be interpreted as )"
    r"|(?:\w+ )?index out of range$"
    r"|name '[^']*' is not defined|cannot access local variable '|local variable '"
    r"|[\w.<>]+\(\) (?:missing \d|takes (?:\d|from \d|no |exactly |at (?:most|least) )"
    r"|got an unexpected keyword |got multiple values )"
    r"|unsupported operand type|'[^']*' not supported between instances|can only concatenate "
    r"|(?:not enough|too many) values to unpack|cannot unpack non-iterable "
    r"|No module named '|cannot import name '|invalid literal for int\(\)"
    r"|(?:could not|cannot) convert string to float|division by zero$"
    r"|Cannot (?:read|set) propert(?:y|ies) |Cannot destructure property |Cannot access '"
    r"|[\w.$\[\]()]+ is (?:not (?:a function|a constructor|defined|iterable)|undefined)$"
    r"|undefined (?:local variable or )?method ['`]|uninitialized constant \w"
    r"|Attempt to invoke \w+ method '|Cannot invoke \"|Index:? \d+(?: out of bounds|, Size: )"
)


def error_of(line: str, *, after_frames: bool = False) -> ErrorMessage | None:
    """Return the error that a line reports, or None.

    ``after_frames`` is True behind the frames of a Python traceback, where any name is a type.
    """
    text = line.strip()
    if is_log(text):
        return _of_log(text)
    if found := _PANICKED.match(text):
        return ErrorMessage(found[1] or found[2] or "")
    if found := _ELIXIR.match(text):
        return ErrorMessage(found[2], found[1])
    if found := _TYPE_IN_FRONT.fullmatch(text):
        return ErrorMessage(found[2], found[1])
    if found := _RUBY.match(text):
        return ErrorMessage(found[1], found[2])
    if found := _WHAT.match(text):
        return ErrorMessage(found[1])
    if found := _TERMINATE.match(text):
        return ErrorMessage("", found[1])
    if found := _ASSERTION.search(text):
        return ErrorMessage(found[1])
    if found := _FAILED_TASK.match(text):
        return ErrorMessage(found[1] or "")
    if typed := _typed(text, after_frames):
        return typed
    if (found := _LUA.match(text)) or (found := _PERL.match(text)):
        return ErrorMessage(found[1])
    if (found := _LABELLED.match(text)) or (found := _NUMBERED.match(text)):
        return ErrorMessage(found[1].strip())
    return None


def is_of_runtime(message: str) -> bool:
    """Return True for a message of a runtime. Code that contains the same text is not its cause:
    the names in the message lead to that."""
    return bool(_OF_RUNTIME.match(message))


def _typed(text: str, after_frames: bool) -> ErrorMessage | None:
    plain = text
    for prefix in _PREFIXES:
        if found := prefix.match(plain):
            plain = plain[found.end() :]
    is_error = after_frames or plain is not text
    if (found := _TYPED.match(plain)) and (
        is_error or _ERROR_TYPE.search(found[1]) or _IN_MODULE.match(found[1])
    ):
        message = _IN_FILE.sub("", (found[2] or "").strip())
        return ErrorMessage(message, found[1])
    if (found := _ONLY_TYPE.fullmatch(plain)) and is_error:
        return ErrorMessage("", found[1])
    return ErrorMessage(_IN_FILE.sub("", plain)) if plain is not text and plain else None


def _of_log(text: str) -> ErrorMessage | None:
    entry = log_entry(text)
    if entry is None or not entry.is_error:
        return None
    return _typed(entry.message, False) or ErrorMessage(entry.message)
