"""Parse the arguments of the command line, with the habits of people.

A question needs no command, options may stand between paths, and errors suggest what was meant.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NoReturn

from winnow.frontends.cli.guarded import FAILED

SEARCH, GREP, HELP = "search", "grep", "help"
# A word that is at least so similar to a command is a mistyped command, not a question.
SIMILAR = 0.75


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and point to `--help`."""

    given: Sequence[str] = ()
    """The arguments of the command, for its errors."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("the following arguments are required"):
            # A query that begins like an option is taken for one.
            unknown = (word for word in self.given if _is_unknown_option(word, self))
            message = next((_unknown(word, self) for word in unknown), message)
        self.exit(FAILED, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def parsed(parser: Parser, arguments: Sequence[str], folder: Path) -> argparse.Namespace:
    """Parse the arguments of a command in a folder. Those that begin with no command are a question
    for `winnow search`."""
    commands = _commands_of(parser)
    arguments = list(arguments)
    if not arguments:
        parser.error(
            "The search as you type needs a terminal with a cursor. To ask: winnow 'QUESTION'"
        )
    if arguments[0] == HELP and all(word in commands for word in arguments[1:]):
        arguments = [*arguments[1:2], "--help"]
    is_question = not _names_a_command(arguments[0], commands, parser)
    if is_question:
        arguments.insert(0, SEARCH)
    command = commands.get(arguments[0], parser)
    command.given = arguments[1:]
    # Positional arguments behind an option are left over.
    options, rest = parser.parse_known_args(_with_whole_patterns(arguments))
    takes_paths = "tool" in options and options.tool.takes_paths
    takes_rest = takes_paths or "where" in options
    unknown = [word for word in rest if not takes_rest or (word[:1] == "-" and word != "-")]
    if unknown:
        command.error(_unknown(unknown[0], command))
    if takes_paths:
        options.path = [*(getattr(options, "path", None) or ()), *rest]
    elif takes_rest:  # the archives of `winnow index export`
        options.where = [*options.where, *rest]
    if is_question and not _are_paths(options.path, options.query, folder):
        # Without quotes: winnow how is a session deleted
        options.query, options.path = " ".join([options.query, *options.path]), []
    if takes_paths:
        options.path += options.paths
    return options


def _with_whole_patterns(arguments: Sequence[str]) -> list[str]:
    """Join `-e` and a pattern such as `-OOM`, which argparse takes for an option."""
    whole = list(arguments[:1])
    for word in arguments[1:]:
        if arguments[0] == GREP and whole[-1] == "-e" and word.startswith("-"):
            whole[-1] += word
        else:
            whole.append(word)
    return whole


def _are_paths(words: Sequence[str], query: str, folder: Path) -> bool:
    """Return False if the words belong to the question. A single word after a question in quotes
    is a path, perhaps a mistyped one."""
    is_quoted = len(query.split()) > 1
    return (is_quoted and len(words) == 1) or all(_is_path(word, folder) for word in words)


def _is_path(word: str, folder: Path) -> bool:
    """Return False for a word of a question. A path that does not exist is reported later."""
    return "/" in word or os.path.lexists(folder / word)


def _names_a_command(word: str, commands: Collection[str], parser: argparse.ArgumentParser) -> bool:
    """Return False for a question. Report a mistyped command."""
    if word in commands or word in ("-h", "--help", "--version"):
        return True
    is_name = word.islower() and word.replace("-", "_").isidentifier()
    if is_name and (close := _similar(word, commands)):
        parser.error(
            f"Unknown command `{word}`. Did you mean `{close}`?"
            f" To search for the word: winnow {SEARCH} {word}"
        )
    return False


def _is_unknown_option(word: str, parser: argparse.ArgumentParser) -> bool:
    """Return True for what argparse takes for an option that it does not know."""
    if len(word) <= 2 or word[0] != "-":
        return False
    known = _options_of(parser)
    name = word.partition("=")[0]  # may be the beginning of an option's
    with_value = word[1] != "-" and word[:2] in known  # `-n3`
    return not with_value and not any(option.startswith(name) for option in known)


def _unknown(word: str, parser: argparse.ArgumentParser) -> str:
    if not word.startswith("-"):
        return f"Unknown argument `{word}`."
    name = word.partition("=")[0]
    found = f"Unknown option `{name}`."
    if close := _meant_option(name, _options_of(parser)):
        return f"{found} Did you mean `{close}`?"
    if parser.prog.endswith((f" {SEARCH}", f" {GREP}")):
        return f"{found} To search for it: {parser.prog} -- {shlex.quote(word)}"
    return found


def _meant_option(name: str, options: Collection[str]) -> str:
    """Return the option that a wrong one means, or "". It may be the name of a tool's param."""
    # Only errors need it.
    from winnow.tools.correction import meant_param

    params = {option.removeprefix("--").replace("-", "_"): option for option in options}
    meant = meant_param(name.removeprefix("--").replace("-", "_"), params)
    return params[meant] if meant in params and name.startswith("--") else _similar(name, options)


def _options_of(parser: argparse.ArgumentParser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings]


def _similar(word: str, known: Collection[str]) -> str:
    return next(iter(difflib.get_close_matches(word, known, 1, SIMILAR)), "")


def _commands_of(parser: argparse.ArgumentParser) -> dict[str, Parser]:
    [action] = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return dict(action.choices)
