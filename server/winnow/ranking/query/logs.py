"""Recognize entries of logs and responses that report an error, and separate their messages from
what is added to them.

Patterns are anchored and have no ambiguous repetitions, so that the time is linear.
"""

from __future__ import annotations

import re

from msgspec import Struct


class LogEntry(Struct, frozen=True):
    """An entry of a log: its message, and True if its level says that something failed."""

    message: str
    is_error: bool


_ERRORS = "ERROR|FATAL|CRITICAL|PANIC|SEVERE|EMERGENCY"
_OTHERS = "TRACE|DEBUG|VERBOSE|INFO|NOTICE|WARN|WARNING"
# What others print in brackets, such as Serilog.
_SHORT = "ERR|FTL|CRT|EROR|FATL|VRB|DBG|INF|WRN|TRCE|DBUG"
_IS_ERROR = re.compile(
    rf"(?:^|\W)(?:{_ERRORS}|ERR|FTL|CRT|EROR|FATL|CRIT|EMERG|ALERT)\b|^[EF]$", re.I
)
_IS_LEVEL = re.compile(rf"(?:^|\W)(?:{_ERRORS}|{_OTHERS}|{_SHORT})\b|^[A-Z]$", re.I)
_CLOCK = r"\d\d:\d\d(?::\d\d(?:[.,:]\d{1,9})?)?"
_TIME = (
    rf"\d{{4}}[-/]\d\d[-/]\d\d(?:[T ,]{{1,2}}{_CLOCK})?(?:Z| ?[+-]\d\d:?\d\d| UTC)?"
    rf"|\d\d [A-Z][a-z]{{2}} \d{{4}} {_CLOCK}|\d\d:\d\d:\d\d(?:[.,:]\d{{1,9}})?(?=[\s\]|,])"
)
# The month may be in any language.
_SYSLOG = r"[^\W\d_]{3,4}\.? [ \d]\d \d\d:\d\d:\d\d"
# Docker puts the name of the container in front.
_CONTAINER = r"[\w.-]{1,60} {1,20}\| {1,4}"
_STARTS = re.compile(
    rf"(?:{_CONTAINER})?(?:\W{{0,3}}(?:{_TIME})|{_SYSLOG}|[IWEF]\d{{4}} \d\d:\d\d|"
    rf"\d{{1,7}}:[A-Z] \d\d [A-Z][a-z]{{2}} \d{{4}} |[A-Z], \[\d{{4}}-|"
    r"\[\d\d/[A-Z][a-z]{2}/\d{4}[: ]|"
    rf"(?:{_ERRORS}|{_OTHERS})\b[\]|: ]|"
    rf"\[(?:{_ERRORS}|{_OTHERS}|{_SHORT}|error|info|warn|debug)\] |"
    r"(?:ts|time|level)=\S|\{\"(?:level|ts|time|timestamp|@timestamp|severity|msg|message)\":)"
)
# An object in JSON, or as Python prints it; and a message in it, at the beginning of its line.
_OBJECT = re.compile(r"\{\s{0,20}[\"'][\w@.-]{1,40}[\"']\s?:")
_OBJECT_MESSAGE = re.compile(
    r"[\"'](?:error|message|msg|detail|error_description)[\"']\s?:\s?[\"']"
)
# What a logger puts before a message. The groups may be levels.
_PREFIX = re.compile(
    rf"(?:{_CONTAINER}"
    # A host and a process, behind the time.
    rf"|{_SYSLOG} \S{{1,80}} [^\s:\[]{{1,80}}(?:\[\d{{1,9}}\])?:"
    rf"|{_SYSLOG}|(?:{_TIME})"
    r"|([IWEF])\d{4} \d\d:\d\d:\d\d\S* +\d* *\S{1,80}\]"
    r"|\d{1,7}:[A-Z](?= )|([A-Z]),(?= \[\d{4}-)"
    # PHP's Monolog; Ruby behind a level.
    rf"|[\w-]{{1,40}}\.({_ERRORS}|{_OTHERS}|ALERT):|-- [\w.-]{{0,60}}: "
    rf"|({_ERRORS}|{_OTHERS})\b(?:[:|](?:[\w.]{{1,80}}:)?|\]|(?= ))"
    r"|\[([^\[\]]{1,120})\]:?"
    # A thread or a process.
    r"|\([\w-]{1,60}\)(?= \[)|\d{1,9}(?:#\d{1,9}:|(?= +(?:---|\[|\d)))|\*\d{1,12}(?= )"
    # A logger: `my.module:`, `crate::module [`.
    r"|[A-Za-z_][\w$]{0,60}(?:(?:\.|::)[\w$]{1,60}){1,12}(?:\[\d{1,9}\])?(?<!Error)(?<!Exception)"
    r"(?: {0,60}:(?= )|(?= [\[-]))"
    r"|-{1,3}(?= )|[|>.#*:](?= ))[ \t]{0,20}"
)
# A logger, and a level that is not at the beginning of an entry, but not far from it.
_LOGGER = re.compile(r"[\w.-]{1,80} {1,4}(?=- )")
_LEVEL = re.compile(rf"\[ ?({_ERRORS}|{_OTHERS}|{_SHORT}) ?\]:?|\b({_ERRORS}|[Ee]rror)\b[\]|: -]*")
_NEAR = 200
_FIELD = re.compile(
    r"\b(msg|message|error|err|detail|error_description|level|lvl|severity)[\"']?\s?[=:] ?"
    r"(?:\"((?:[^\"\\]|\\.){1,1000})\"|'((?:[^'\\]|\\.){1,1000})'|([^\s\"',{}\[\]]+))"
)
_MESSAGES = ("msg", "message")
_CAUSES = ("error", "err", "detail", "error_description")
_ESCAPED = re.compile(r"\\(.)")


def is_log(line: str) -> bool:
    """Return True if a line begins as an entry of a log."""
    return bool(_STARTS.match(line)) or _is_object(line)


def _is_object(line: str) -> bool:
    """Return True for an object with a message, or the line of one that has the message."""
    has_message = _OBJECT_MESSAGE.search if _OBJECT.match(line) else _OBJECT_MESSAGE.match
    return has_message(line) is not None


def log_entry(line: str) -> LogEntry | None:
    """Return the entry of a line that begins as one; None if it has no message."""
    found_fields = _FIELD.findall(line)
    fields = {name: _ESCAPED.sub(r"\1", "".join(values)) for name, *values in found_fields}
    messages = [fields[name] for name in (*_MESSAGES, *_CAUSES) if name in fields]
    is_structured = "level" in fields or line.startswith("{") or _is_object(line)
    if any(name in fields for name in _MESSAGES) or (messages and is_structured):
        level = next((fields[name] for name in ("level", "lvl", "severity") if name in fields), "")
        is_error = bool(_IS_ERROR.search(level)) or any(name in fields for name in _CAUSES)
        # As Go joins them.
        return LogEntry(": ".join(dict.fromkeys(messages)), is_error)
    at = 0
    levels: list[str] = []
    while found := _PREFIX.match(line, at) or (not levels and _LOGGER.match(line, at)):
        levels += filter(None, found.groups())
        at = found.end()
    if not any(map(_IS_LEVEL.search, levels)) and (found := _LEVEL.search(line, at, at + _NEAR)):
        levels += filter(None, found.groups())
        at = found.end()
    message = line[at:].strip()
    return LogEntry(message, any(map(_IS_ERROR.search, levels))) if message else None
