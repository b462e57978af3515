"""Check the scripts of sed and awk, which could otherwise write files, run programs and open files.

Both checks accept less than the programs do. What they can't rule out is refused, even where it
would be harmless: a script is not interpreted here, so a check must not depend on how a program
interprets it. sed also runs with `--sandbox`, which refuses the same by itself, and the kernel lets
neither program write a file or run another program (see :mod:`winnow.processes.sandbox`).
"""

from __future__ import annotations

import re

from winnow.errors import NotAllowed

SCRIPT_CHARACTERS = 2_000

# --- sed -----------------------------------------------------------------------------------

_SPACE = re.compile(r"[ \t]*")
_ENDS = re.compile(r"[ \t]*(?:[;\n][ \t;\n]*|$)")
_LINE = re.compile(r"[0-9]+(?:~[0-9]+)?|\$")
_SECOND_LINE = re.compile(r"[+~]?[0-9]+|\$")
_FLAGS = re.compile(r"[gpiIMm0-9]*")
# Print, delete, quit, number; others write, run, read, or loop.
_COMMANDS = "pdq="


def check_sed(script: str) -> None:
    """Raise NotAllowed unless a script only prints, deletes and substitutes."""
    if len(script) > SCRIPT_CHARACTERS:
        raise NotAllowed("sed", "the script is too long")
    at = _ENDS.match(script)
    place = at.end() if at else 0
    while place < len(script):
        place = _command(script, _addresses(script, place))
        ends = _ENDS.match(script, place)
        if ends is None:
            raise _refused(script, place)
        place = ends.end()


def _addresses(script: str, at: int) -> int:
    """Return the end of the addresses in front of a command."""
    start, at = at, _address(script, at, _LINE)
    if at > start and script[at : at + 1] == ",":
        second = _SPACE.match(script, at + 1)
        assert second is not None
        at = _address(script, second.end(), _SECOND_LINE)
        if at == second.end():
            raise _refused(script, at)
    space = re.compile(r"[ \t!]*").match(script, at)
    assert space is not None
    return space.end()


def _address(script: str, at: int, line: re.Pattern[str]) -> int:
    if script[at : at + 1] == "/":
        end = _delimited(script, at + 1, "/")
        return end + (script[end : end + 1] == "I")
    found = line.match(script, at)
    return found.end() if found else at


def _command(script: str, at: int) -> int:
    """Return the end of the command at a place."""
    name = script[at : at + 1]
    if name and name in _COMMANDS:
        return at + 1
    if name not in ("s", "y") or at + 1 >= len(script):
        raise _refused(script, at)
    delimiter = script[at + 1]
    if delimiter.isalnum() or delimiter in "\\\n \t;{}[]" or not delimiter.isascii():
        raise _refused(script, at)
    end = _delimited(script, _delimited(script, at + 2, delimiter), delimiter)
    flags = _FLAGS.match(script, end) if name == "s" else None
    return flags.end() if flags else end


def _delimited(script: str, at: int, delimiter: str) -> int:
    """Return the place behind the next delimiter. One inside of brackets is refused: programs
    disagree about it."""
    start = at
    while at < len(script) and script[at] != delimiter:
        if "\n" in script[at : at + 1 + (script[at] == "\\")]:
            raise _refused(script, at)
        at += 2 if script[at] == "\\" else 1
    if at >= len(script):
        raise NotAllowed("sed", f"the {delimiter} at the end of a pattern or text is missing")
    if re.search(r"\[(?:\^?\][^\]]*|[^\]]*)$", script[start:at]):
        raise NotAllowed("sed", f"[ ] may not contain {delimiter}")
    return at + 1


def _refused(script: str, at: int) -> NotAllowed:
    named = script[at : at + 1] or "the end"
    return NotAllowed(
        f"sed {named!r}", "only p, d, q, =, s and y are allowed, without the flags w and e"
    )


# --- awk -----------------------------------------------------------------------------------

# Also within words: `1system` is the number 1 and a call.
_AWK = (
    (r"system", "system", "it runs programs"),
    (r"getline", "getline", "it opens files"),
    (r"ARG[CV]", "ARGV", "it opens files"),
    (r"ENVIRON|PROCINFO|SYMTAB|FUNCTAB", "ENVIRON and the like", "they lead elsewhere"),
    (r"@", "@", "it loads and calls what can't be checked"),
    (r"\\\r?\n", "a backslash at the end of a line", "it hides words"),
    (r">", ">", "it writes files: write a > b as b < a"),
    (r"(?<!\|)\|(?:\|\|)*(?!\|)", "|", "it runs programs: write /a|b/ as /a/ || /b/"),
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\\]{0,1000}")


def check_awk(script: str) -> None:
    """Raise NotAllowed for a script that has, anywhere, the words and signs that write files, run
    programs or open files."""
    if len(script) > SCRIPT_CHARACTERS or not script.isascii():
        raise NotAllowed("awk", "the script is too long, or not ASCII")
    for pattern, named, why in _AWK:
        if re.search(pattern, script):
            raise NotAllowed(f"awk {named}", why)


def check_assignment(text: str) -> None:
    """Raise NotAllowed for a value of awk's `-v` that is not `name=value`."""
    if not _ASSIGNMENT.fullmatch(text) or re.match(r"ARG[CV]=", text):
        raise NotAllowed(f"awk -v {text[:100]}", "expected name=value, without backslashes")
