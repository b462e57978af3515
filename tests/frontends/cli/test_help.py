"""The help texts for people: one for each command, with an example that the parser accepts."""

from __future__ import annotations

import argparse
import shlex

import pytest

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
    assert all(help_.example for help_ in COMMANDS.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_accepted(name: str) -> None:
    program, *arguments = shlex.split(COMMANDS[name].example.partition(">")[0])
    assert (program, arguments[0]) == ("winnow", name)
    command_parser().parse_args(arguments)
    assert COMMANDS[name].example in subcommands()[name].format_help()
