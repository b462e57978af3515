"""bash: one pipeline of read-only programs."""

from __future__ import annotations

import msgspec

from winnow.config import Config
from winnow.errors import NotAllowed, NotFound, NoWorkspace, ProgramNotInstalled, SearchFailed
from winnow.text.sanitize import printable
from winnow.tools.recording import runs
from winnow.tools.registry import tool
from winnow.tools.terminal import Style
from winnow.types import Progress
from winnow.types.bash import BashParams, BashResult
from winnow.workspace import Workspace


def plain(result: BashResult) -> str:
    """The output, then in brackets what a reader should know."""
    return text(result, Style(colour=False), "")


def text(result: BashResult, style: Style, folder: str) -> str:
    """The output, then what a reader should know, dimmed on a terminal."""
    output = result.stdout.removesuffix("\n")
    lines = [printable(line) for line in output.split("\n")] if output else []
    return "\n".join([*lines, *(style.dim(f"[{note}]") for note in _notes(result))])


def _notes(result: BashResult) -> list[str]:
    complaints = (result.stderr or "").splitlines()
    notes = [f"stderr: {printable(line)}" for line in complaints if line.strip()]
    notes += [reason for reason in result.completeness.reasons if not reason.endswith("see stderr")]
    notes += result.warnings
    if result.exit_code:
        notes.append(f"exit code {result.exit_code}")
    return notes


def _enabled(config: Config) -> Config:
    return msgspec.structs.replace(config, bash=msgspec.structs.replace(config.bash, enabled=True))


@tool(
    plain=plain,
    text=text,
    # In order, as ripgrep's threads give none.
    example={"command": "rg -n --sort path load_plugin src | head -3"},
    raises=(NotAllowed, NoWorkspace, NotFound, ProgramNotInstalled, SearchFailed),
    offered=lambda config: config.bash.enabled,
    by_hand=_enabled,
    learn=runs(lambda params: params.command),
)
async def bash(workspace: Workspace, params: BashParams, progress: Progress) -> BashResult:
    """bash runs one command line of read-only programs, joined by pipes, in the workspace's root.

    Programs: grep find cat head tail ls tree wc file rg rga. rga searches PDF, Word and other documents as rg searches text.

    Examples:
    - rg -n "def load" --type py | head -20
    - rga "search term" docs/
    - rga --type pdf "quarterly report" | head -20
    - find . -name "*.toml" -not -path "*/node_modules/*"

    There is no shell. Quotes, backslashes and the patterns * ? [..] work; redirection (2>/dev/null), variables, $(..), ; && || & and {a,b} do not. Options that run programs, write files, follow links or never end (find -exec, tail -f) are refused, and so is every path outside of the workspace. A refusal names the part and the reason.
    The exit code is that of the last program. Long output is cut: end the line with | head.
    """  # noqa: E501 - for models: one paragraph, one line
    # Not needed to start a server or to print help.
    from winnow.search.bash.run import run_bash

    return await run_bash(workspace, params, progress)
