"""The help texts for people: one for each command, with two examples that the parser accepts."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

import pytest

from winnow.frontends.cli.arguments import parsed
from winnow.frontends.cli.call import params_of
from winnow.frontends.cli.help import COMMANDS
from winnow.frontends.cli.main import command_parser
from winnow.tools import TOOLS
from winnow.tools.registry import Tool


def subcommands() -> dict[str, argparse.ArgumentParser]:
    [action] = [
        action
        for action in command_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return {one.dest: action.choices[one.dest] for one in action._choices_actions}


def test_every_command_has_a_help_text() -> None:
    assert COMMANDS.keys() == subcommands().keys()
    assert all(len(help_.examples) == 2 for help_ in COMMANDS.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_accepted(name: str) -> None:
    for example in COMMANDS[name].examples:
        program, *arguments = shlex.split(example.partition(">")[0])
        assert (program, arguments[0]) == ("winnow", name)
        parsed(command_parser(), arguments, Path.cwd())
        assert example in subcommands()[name].format_help()


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_option_has_the_type_of_its_field(tool: Tool[Any, Any]) -> None:
    command = subcommands()[tool.command]
    required = [field.name for field in tool.fields if field.required]
    typed = [sample_of(one) for one in command._actions if one.dest in required]
    for action in command._actions:
        if action.option_strings and action.dest in {field.name for field in tool.fields}:
            value = [] if action.nargs == 0 else [sample_of(action)]
            arguments = [tool.command, *typed, action.option_strings[-1], *value]
            options = parsed(command_parser(), arguments, Path.cwd())
            tool.parse(params_of(tool, options, Path.cwd()))


def sample_of(action: argparse.Action) -> str:
    if action.choices:
        return str(next(iter(action.choices)))
    return "1-2" if action.metavar == "START-END" else "1"
