"""Shell completions, generated from the parsers of the command line.

A script contains every subcommand, option and choice, so that no key press starts a program. Two
libraries were tried: shtab's scripts complete nothing after `--option=`, and in zsh only work as
files in the shell's own folders; argcomplete starts the program at each key press.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

HELP_CHARACTERS = 60
# Arguments that are completed with file names.
_PATHS = frozenset({"path", "paths", "folders"})


class Argument(NamedTuple):
    """An option, or a positional argument, which has no names. A flag has no ``value``; ``words``
    are the possible values, if known."""

    names: tuple[str, ...]
    value: str
    words: tuple[str, ...]
    is_path: bool
    repeats: bool
    optional: bool
    help: str


class Subcommand(NamedTuple):
    """A subcommand."""

    name: str
    help: str
    options: list[Argument]
    positions: list[Argument]


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the completions for a shell in :data:`SHELLS`."""
    lines = SHELLS[shell](parser.prog, _arguments(parser), list(_commands(parser)))
    return "\n".join(lines) + "\n"


def _commands(parser: argparse.ArgumentParser) -> Iterator[Subcommand]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            for name, help_ in helps.items():  # without the earlier names of commands
                command = action.choices[name]
                arguments = _arguments(command)
                options = [one for one in arguments if one.names]
                positions = [one for one in arguments if not one.names]
                yield Subcommand(name, _in_short(help_), options, positions)


def _arguments(parser: argparse.ArgumentParser) -> list[Argument]:
    actions = [one for one in parser._actions if not isinstance(one, argparse._SubParsersAction)]
    # An argument that is also an option has its choices there.
    choices = {one.dest: tuple(map(str, one.choices)) for one in actions if one.choices}
    return [
        Argument(
            names=tuple(name for name in one.option_strings if name.startswith("--")),
            value="" if one.nargs == 0 else one.dest.replace("_", " "),
            words=tuple(getattr(one, "complete", ())) or choices.get(one.dest, ()),
            is_path=one.dest in _PATHS,
            repeats=one.nargs in ("*", "+") or isinstance(one, argparse._AppendAction),
            optional=one.nargs in ("*", "?"),
            help=_in_short(one.help or ""),
        )
        for one in actions
        if one.help != argparse.SUPPRESS
    ]


def _in_short(text: str) -> str:
    """Return the first sentence of a help text, shortened to fit on a line."""
    first = re.split(r"\.(?:\s|$)", text.replace("%%", "%"))[0]
    return textwrap.shorten(first, HELP_CHARACTERS, placeholder=" …")


# --- bash ----------------------------------------------------------------------------------

# bash's readline splits words at `=`. The bash of macOS has no compopt.
_BASH = r"""
# Sets `words` to the possible words, or `/` for any file; fails if there are none.
_{prog}_words() {
  case $1 in
{cases}
    *) words=; return 1 ;;
  esac
}

_{prog}() {
  local words= awaited= only_positions= position=1 word
  local command=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" = 1 ]; then
    _{prog}_words commands
  else
    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
      if [ "$awaited" ]; then
        [ "$word" = = ] || awaited=
      elif [ "$only_positions$word" = -- ]; then
        only_positions=+
      elif [[ $only_positions$word == -* ]]; then
        ! _{prog}_words "$command $word" || awaited=$word
      else
        position=$((position + 1))
      fi
    done
    [ "$current" != = ] || current=
    if [ "$awaited" ]; then
      _{prog}_words "$command $awaited"
    elif [[ $only_positions$current == -* ]]; then
      _{prog}_words "$command -"
    else
      _{prog}_words "$command $position" || _{prog}_words "$command all"
    fi
  fi
  COMPREPLY=()
  if [ "$words" = / ]; then
    if ! compopt -o default 2>/dev/null; then
      local IFS=$'\n'
      COMPREPLY=($(compgen -f -- "$current"))
    fi
  elif [ "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}

complete -F _{prog} {prog}
"""


def _bash(prog: str, options: list[Argument], commands: list[Subcommand]) -> Iterator[str]:
    cases = {"commands": " ".join([one.name for one in commands] + _names(options))}
    for command in commands:
        cases[f"{command.name} -"] = " ".join(_names(command.options))
        for option in command.options:
            if option.value:
                cases |= {f"{command.name} {name}": _for_bash(option) for name in option.names}
        for place, position in enumerate(command.positions, 1):
            where = "all" if position.repeats else place
            cases[f"{command.name} {where}"] = _for_bash(position)
    lines = [f"    '{case}') words='{words}' ;;" for case, words in cases.items()]
    yield f"# Completions of {prog} for bash."
    yield _BASH.strip().replace("{cases}", "\n".join(lines)).replace("{prog}", prog)


def _for_bash(argument: Argument) -> str:
    return "/" if argument.is_path else " ".join(argument.words)


def _names(options: list[Argument]) -> list[str]:
    return [name for option in options for name in option.names]


# --- zsh -----------------------------------------------------------------------------------

_ZSH = r"""
_{prog}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C {options} '1:command:->command' '*::argument:->argument' && return
  case $state in
    command)
      local -a commands
      commands=(
{commands}
      )
      _describe -t commands command commands ;;
    argument)
      case $words[1] in
{cases}
      esac ;;
  esac
}

if [ "$funcstack[1]" = _{prog} ]; then
  _{prog} "$@"
else
  compdef _{prog} {prog}
fi
"""


def _zsh(prog: str, options: list[Argument], commands: list[Subcommand]) -> Iterator[str]:
    shown = [_quoted(f"{one.name}:{one.help}") for one in commands]
    cases = []
    for command in commands:
        specs = [spec for one in command.options for spec in _option_for_zsh(one)]
        specs += [_position_for_zsh(at, one) for at, one in enumerate(command.positions, 1)]
        joined = " \\\n            ".join(specs)
        cases.append(f"        {command.name})\n          _arguments -S {joined} ;;")
    texts = {
        "{options}": " ".join(spec for one in options for spec in _option_for_zsh(one)),
        "{commands}": "\n".join(f"        {one}" for one in shown),
        "{cases}": "\n".join(cases),
        "{prog}": prog,
    }
    yield f"#compdef {prog}\n# Completions of {prog} for zsh."
    yield re.sub(r"\{(?:options|commands|cases|prog)\}", lambda at: texts[at[0]], _ZSH.strip())


def _option_for_zsh(option: Argument) -> Iterator[str]:
    said = re.sub(r"([\[\]:\\])", r"\\\1", option.help)
    for name in option.names:
        value = f":{option.value}:{_for_zsh(option)}" if option.value else ""
        many, takes = "*" if option.repeats else "", "=" if option.value else ""
        yield _quoted(f"{many}{name}{takes}[{said}]{value}")


def _position_for_zsh(place: int, argument: Argument) -> str:
    where = "*" if argument.repeats else f"{place}:" if argument.optional else f"{place}"
    return _quoted(f"{where}:{argument.value}:{_for_zsh(argument)}")


def _for_zsh(argument: Argument) -> str:
    # Without `()`, an unknown value would hide the options at its position.
    return "_files" if argument.is_path else f"({' '.join(argument.words)})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# --- fish ----------------------------------------------------------------------------------

_FISH = """
function __{prog}_is
    set -l words (commandline -opc)
    test "$words[2]" = "$argv[1]"
end

complete -c {prog} -f
"""


def _fish(prog: str, options: list[Argument], commands: list[Subcommand]) -> Iterator[str]:
    yield f"# Completions of {prog} for fish."
    yield _FISH.strip().replace("{prog}", prog)
    first = f"complete -c {prog} -n '__{prog}_is \"\"'"
    for option in options:
        yield from _for_fish(first, option)
    for command in commands:
        yield f"{first} -a {command.name} -d {_fish_quoted(command.help)}"
        start = f"complete -c {prog} -n '__{prog}_is {command.name}'"
        for argument in (*command.options, *command.positions):
            yield from _for_fish(start, argument)


def _for_fish(start: str, argument: Argument) -> Iterator[str]:
    files = "-F" if argument.is_path else ""
    words = f"-a '{' '.join(argument.words)}'" if argument.words else ""
    if not argument.names:
        if files or words:
            yield f"{start} {files or words}"
        return
    takes = ("-r" if files else "-x") if argument.value else ""
    for name in argument.names:
        parts = [
            start,
            f"-l {name[2:]}",
            takes,
            files or words,
            f"-d {_fish_quoted(argument.help)}",
        ]
        yield " ".join(filter(None, parts))


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
