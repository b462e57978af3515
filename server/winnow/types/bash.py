"""Params and result of bash."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from winnow.types import Answer, Params


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
        int, Meta(description="Seconds after which the programs are ended.", ge=1, le=120)
    ] = 30
    max_tokens: Annotated[
        int,
        Meta(
            description="Leave out the last lines of the output until it is estimated to fit this"
            " many tokens; `truncated` says so. 0 is no limit.",
            ge=0,
        ),
    ] = 0


class BashResult(Answer, frozen=True, kw_only=True):
    """What the pipeline wrote; `total_found` and `returned` count lines of `stdout`."""

    stdout: Annotated[str, Meta(description="The output of the last program.")]
    stderr: Annotated[
        str | None, Meta(description="What the programs complained of, if they did.")
    ] = None
    exit_code: Annotated[
        int | None,
        Meta(description="The last program's exit code; absent if it was ended before its end."),
    ] = None
