"""bash: run one pipeline of read-only programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from winnow.errors import NotAllowed, NotFound, NoWorkspace, ProgramNotInstalled, SearchFailed
from winnow.search.answer.shorten import shorten
from winnow.text.paths import shown_folder
from winnow.text.sanitize import printable
from winnow.tools.recording import runs
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.terminal import Style
from winnow.types import Answer, Completeness, Params, Progress, Skipped
from winnow.workspace import EngineWorkspace

# Shares of the output that are tried in turn to fit `max_tokens`.
SHORTER = (0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.0)
SEE_STDERR = "a program wrote errors: see stderr"


class BashParams(Params, frozen=True, kw_only=True):
    """One command line."""

    command: Annotated[
        str,
        Meta(
            description="Programs with their arguments, joined by pipes, such as"
            " 'rg -n TODO src | head -20'. They run in the workspace's root.",
            min_length=1,
            max_length=8_000,
        ),
    ]
    timeout: Annotated[
        int, Meta(description="Seconds after which the programs are killed.", ge=1, le=120)
    ] = 30
    max_tokens: Annotated[
        int,
        Meta(
            description="Drop the last lines of the output until it is estimated to fit this many"
            " tokens; `truncated` says so. 0 is no limit.",
            ge=0,
        ),
    ] = 0


class BashResult(Answer, frozen=True, kw_only=True):
    """The output of the pipeline. `total_found` and `returned` count lines of `stdout`."""

    stdout: Annotated[str, Meta(description="The output of the last program.")]
    stderr: Annotated[str | None, Meta(description="Error output of the programs, if any.")] = None
    exit_code: Annotated[
        int | None,
        Meta(description="The last program's exit code; absent if the program was killed."),
    ] = None


def text(result: BashResult, style: Style, folder: str | None) -> str:
    """Render the output, then dimmed notes."""
    output = result.stdout.removesuffix("\n")
    lines = [printable(line) for line in output.split("\n")] if output else []
    return "\n".join([*lines, *(style.dim(f"[{note}]") for note in _notes(result))])


def _notes(result: BashResult) -> list[str]:
    errors = (result.stderr or "").splitlines()
    notes = [f"stderr: {printable(line)}" for line in errors if line.strip()]
    notes += [reason for reason in result.completeness.reasons if reason != SEE_STDERR]
    notes += result.warnings
    if result.exit_code:
        notes.append(f"exit code {result.exit_code}")
    return notes


@tool(
    text=text,
    command_help=CommandHelp(
        "Run a pipeline of read-only programs, without a shell.",
        "winnow bash 'rg -n TODO src | head -5'",
        "winnow bash 'rg -l TODO | sort | head -5'",
    ),
    # Sorted, because ripgrep's threads print files in any order.
    example={"command": "rg -n --sort path load_plugin src | head -3"},
    raises=(NotAllowed, NoWorkspace, NotFound, ProgramNotInstalled, SearchFailed),
    switch="bash.enabled",
    learn=runs(lambda params: params.command),
)
async def bash(workspace: EngineWorkspace, params: BashParams, progress: Progress) -> BashResult:
    """Run one pipeline of read-only programs in the workspace's root.

    Programs: grep find cat head tail ls tree wc file sort uniq cut tr nl comm rg rga, and for simple scripts sed and awk. rga searches PDF, Word and other documents as rg searches text.

    Examples:
    - rg -n "def load" --type py | head -20
    - rga "search term" docs/
    - rga --type pdf "quarterly report" | head -20
    - find . -name "*.toml" -not -path "*/node_modules/*"

    There is no shell. Quotes, backslashes and the patterns * ? [..] work; redirection (2>/dev/null), variables, $(..), ; && || & and {a,b} do not. Options that run programs, write files, follow symlinks or never end (find -exec, tail -f) are refused, and so is every path outside the workspace. A refusal names the part and the reason.
    The exit code is that of the last program. Long output is cut: end the line with | head.
    """  # noqa: E501 - for models: one paragraph, one line
    # Not needed to start a server or to print help.
    from winnow.search.bash.run import run_pipeline

    limit = workspace.config.bash.output_bytes
    output = await run_pipeline(workspace, params.command, params.timeout, limit, progress)
    reasons = []
    if output.is_cut:
        reasons.append(
            f"the output was cut after {limit} bytes, so the line count is a lower bound:"
            " add `| head`, or search for less"
        )
    if output.timed_out:
        reasons.append(f"the programs were killed after {params.timeout} s")
    if output.stderr:
        reasons.append(SEE_STDERR)
    lines = output.stdout.count("\n") + bool(output.stdout and output.stdout[-1] != "\n")
    result = BashResult(
        root=shown_folder(output.root),
        total_found=lines,
        returned=lines,
        truncated=output.is_cut,
        completeness=Completeness(
            complete=not reasons,
            reasons=reasons,
            skipped=Skipped(),
            timed_out=output.timed_out,
        ),
        warnings=output.warnings,
        stdout=output.stdout,
        stderr=output.stderr or None,
        exit_code=output.exit_code,
    )
    return shorten(result, params.max_tokens, [_shorter(result, share) for share in SHORTER])


def _shorter(result: BashResult, share: float) -> Callable[[], BashResult]:
    """Return a function that makes the result with this share of its lines."""

    def shorter() -> BashResult:
        lines = re.findall(r".*\n|.+", result.stdout)
        count = int(len(lines) * share)
        before = result.completeness
        reason = f"the first {count} lines fit max_tokens: `| tail -n +{count + 1}` gives the rest"
        return msgspec.structs.replace(
            result,
            stdout="".join(lines[:count]),
            returned=count,
            truncated=True,
            completeness=msgspec.structs.replace(
                before, complete=False, reasons=[*before.reasons, reason]
            ),
        )

    return shorter
