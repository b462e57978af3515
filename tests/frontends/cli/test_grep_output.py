"""The output of `winnow grep` while it is streamed: the same as that of the complete answer."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from conftest import MakeWorkspace
from winnow.frontends.cli.arguments import parsed
from winnow.frontends.cli.grep_output import GrepOutput
from winnow.frontends.cli.main import command_parser
from winnow.frontends.cli.ripgrep_flags import end_of_form, in_form, with_context
from winnow.tools import TOOLS
from winnow.tools.grep import GrepPartial, GrepResult, text
from winnow.tools.terminal import Style
from winnow.types import no_progress

STYLE = Style(False)


@pytest.mark.parametrize("flag", [[], ["-A1"], ["-o"], ["--vimgrep"], ["--no-heading"], ["--json"]])
async def test_a_streamed_answer_is_rendered_like_a_complete_one(
    flag: list[str], make_workspace: MakeWorkspace, project: Path
) -> None:
    options = parsed(command_parser(), ["grep", "load|plugin", *flag], project)
    raw = {"pattern": "load|plugin", "context_lines": 1 if "-A1" in flag else 0}
    result = await TOOLS["grep"].call(make_workspace(project), raw, no_progress)
    assert isinstance(result, GrepResult)
    output = GrepOutput(options, result.root, str(project), STYLE)
    waiting = set()
    for match in result.matches:
        output.add(GrepPartial(matches=[match]))
        waiting.add(len({held.path for held in output._matches}))
    streamed = output.finished(msgspec.structs.replace(result, matches=[]))
    assert waiting == {1}
    if flag == ["-A1"]:
        result = with_context(result, 0, 1)
    if options.form:
        expected = in_form(result, options.form, str(project), null=False)
        expected += end_of_form(result, options.form)
    else:
        expected = text(result, STYLE, str(project)) + "\n"
    assert streamed == expected != ""
