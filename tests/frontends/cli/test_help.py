"""The help texts for people: one for each command, with two examples that the parser accepts."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest

from winnow.frontends.cli.arguments import parsed
from winnow.frontends.cli.help import COMMANDS
from winnow.frontends.cli.main import command_parser


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
