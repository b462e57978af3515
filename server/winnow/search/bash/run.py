"""Running one pipeline of read-only programs, and what it wrote as an answer."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.documents.rga.settings import settings as rga_settings
from winnow.errors import NotAllowed
from winnow.processes.children import Child
from winnow.search.answer.shorten import shorten
from winnow.search.bash.bounds import Bounds
from winnow.search.bash.expand import MOST_WORDS, expand
from winnow.search.bash.options import Command, command
from winnow.search.bash.parse import Word, parse
from winnow.search.bash.programs import program
from winnow.storage.paths import shown_path
from winnow.text.buffers import changed_paths
from winnow.text.scope import Scope
from winnow.types import Completeness, Progress, SearchParams, Skipped
from winnow.types.bash import BashParams, BashResult
from winnow.workspace import Workspace

STDERR_BYTES = 8 * 1024
# How long programs whose output nobody reads any more may take to say why they end.
GRACE_SECONDS = 0.1
SHORTER = (0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.0)


class Output(Struct, frozen=True):
    """What a pipeline wrote; ``exit_code`` is None if it was ended before its end."""

    stdout: bytes
    stderr: bytes
    exit_code: int | None
    cut: bool
    timed_out: bool


async def run_bash(workspace: Workspace, params: BashParams, progress: Progress) -> BashResult:
    """Run the command line. Raises NotAllowed, ProgramNotInstalled, NoWorkspace, InvalidParams and
    SearchFailed (a program cannot be started)."""
    config = workspace.config.bash
    if not config.enabled:
        raise NotAllowed(
            "bash", "it is off: set bash.enabled in your settings (a workspace's cannot)"
        )
    scope = workspace.scope(SearchParams())
    bounds = Bounds.of_scope(scope)
    # A pattern may look through large folders.
    commands = await asyncio.to_thread(understood, params.command, bounds)
    progress(f"running {' | '.join(one.program for one in commands)}")
    async with workspace.pipelines:
        output = await _run(workspace, commands, bounds, params.timeout, config.output_bytes)
    warnings = [*_pipe_warnings(commands), *_unsaved_warnings(workspace, scope)]
    if any(one.program == "rg" for one in commands):
        warnings += workspace.ignore_files.warnings()
    result = _result(output, scope, params, config.output_bytes, warnings)
    return shorten(result, params.max_tokens, [_step(result, share) for share in SHORTER])


def understood(line: str, bounds: Bounds) -> list[Command]:
    """The programs of a command line with arguments that are safe to pass on.

    Raises NotAllowed for whatever is not known to be harmless, and InvalidParams for no program.
    """
    parsed = [(program(words[0].text), words[1:]) for words in parse(line)]
    return [
        command(
            one,
            _expanded(words, bounds),
            bounds,
            piped=place > 0,
            last=place == len(parsed) - 1,
        )
        for place, (one, words) in enumerate(parsed)
    ]


def _expanded(words: Sequence[Word], bounds: Bounds) -> list[str]:
    expanded: list[str] = []
    for word in words:
        expanded += expand(word, bounds)
        if len(expanded) > MOST_WORDS:
            raise NotAllowed(word.written, f"there are more than {MOST_WORDS} arguments: use find")
    return expanded


async def _run(
    workspace: Workspace, commands: Sequence[Command], bounds: Bounds, seconds: int, most: int
) -> Output:
    """Run the programs; raises ProgramNotInstalled and SearchFailed."""
    deadline = asyncio.get_running_loop().time() + seconds
    if any(one.program == "rga" for one in commands):
        await workspace.ignore_files.scan()  # no sandbox keeps rga from what these lead to
    with _prepared(workspace, commands, bounds) as (arguments, environment):
        # It runs programs that need what no list could name: fonts, caches, data of their own.
        free = [
            one[0] for one, each in zip(arguments, commands, strict=True) if each.program == "rga"
        ]
        uses_ripgrep = any(one.program == "rg" for one in commands)
        async with workspace.processes.pipeline(
            arguments,
            cwd=Path(bounds.folder),
            deadline=deadline,
            environment=environment,
            unsandboxed=free,
            watchdogs={workspace.ripgrep: workspace.ignore_files.watchdog()}
            if uses_ripgrep
            else {},
        ) as children:
            output = await _read(children, most)
    named = [(one[0], each.program) for one, each in zip(arguments, commands, strict=True)]
    return msgspec.structs.replace(output, stderr=_without_folders(output.stderr, named))


@contextlib.contextmanager
def _prepared(
    workspace: Workspace, commands: Sequence[Command], bounds: Bounds
) -> Iterator[tuple[list[list[str]], dict[str, str]]]:
    """Argument lists and the environment, for the time of the block. Raises ProgramNotInstalled."""
    with contextlib.ExitStack() as stack:
        arguments: list[list[str]] = []
        folders: list[str] = []
        for one in commands:
            own: tuple[str, ...] = ()
            if one.program == "rga":
                context = rga_settings(workspace.installed, workspace.ripgrep)
                settings = stack.enter_context(context)
                files = workspace.ignore_files
                options, _ = files.protect(one.arguments, bounds.folder, sandboxed=False)
                own = (*settings.arguments, *options)
                folders.append(settings.programs)
            if one.program == "rg":
                path = workspace.ripgrep
                own = tuple(workspace.ignore_files.protect(one.arguments, bounds.folder)[0])
            else:
                path = workspace.installed.find(one.program)
            arguments.append([path, *own, *one.arguments])
        yield arguments, workspace.installed.restricted(*folders)


async def _read(children: Sequence[Child], most: int) -> Output:
    """The output up to ``most`` bytes, and the end of the programs if it comes before."""
    *earlier, last = children
    stdout = bytearray()
    async for chunk in last.chunks():
        stdout += chunk
        if len(stdout) > most:
            return Output(bytes(stdout[:most]), _complaints(children), None, True, False)
    code = await last.wait()
    waits = [asyncio.ensure_future(child.wait()) for child in earlier]
    if waits:
        _, late = await asyncio.wait(waits, timeout=GRACE_SECONDS)
        for wait in late:
            wait.cancel()
    timed_out = any(child.timed_out for child in children)
    # As a shell tells of a program that a signal has ended.
    exit_code = None if timed_out else code if code >= 0 else 128 - code
    return Output(bytes(stdout), _complaints(children), exit_code, False, timed_out)


def _complaints(children: Sequence[Child]) -> bytes:
    return b"".join(child.stderr.encode() for child in children)


def _without_folders(stderr: bytes, programs: Sequence[tuple[str, str]]) -> bytes:
    """Complaints by the names of the programs: some begin with where the program is."""
    for path, name in programs:
        at_start = re.compile(rb"^" + re.escape(os.fsencode(path)) + rb"(?=: )", re.M)
        stderr = at_start.sub(name.encode(), stderr)
    return stderr


def _result(
    output: Output, scope: Scope, params: BashParams, most: int, warnings: list[str]
) -> BashResult:
    stdout = _decoded(output.stdout, whole=not (output.cut or output.timed_out))
    stderr = _decoded(output.stderr[:STDERR_BYTES], whole=False)
    reasons = []
    if output.cut:
        reasons.append(
            f"the output was cut after {most} bytes, so the number of lines is a lower bound:"
            " add `| head`, or search for less"
        )
    if output.timed_out:
        reasons.append(f"the programs were ended after {params.timeout} seconds")
    if stderr:
        reasons.append("a program complained: see stderr")
    lines = _lines(stdout)
    return BashResult(
        root=shown_path(str(scope.root))[0],
        total_found=lines,
        returned=lines,
        truncated=output.cut,
        completeness=Completeness(
            complete=not reasons,
            reasons=reasons,
            skipped=Skipped(),
            timed_out=output.timed_out,
        ),
        warnings=warnings,
        stdout=stdout,
        stderr=stderr or None,
        exit_code=output.exit_code,
    )


def _decoded(raw: bytes, *, whole: bool) -> str:
    """Bytes as text; a character that was cut in two at the end is left out."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(raw, final=whole)


def _lines(text: str) -> int:
    return text.count("\n") + bool(text and not text.endswith("\n"))


def _step(result: BashResult, share: float) -> Callable[[], BashResult]:
    """The result with this share of its lines."""

    def shorter() -> BashResult:
        lines = re.findall(r".*\n|.+", result.stdout)
        kept = int(len(lines) * share)
        said = result.completeness
        reason = f"the first {kept} lines fit max_tokens: `| tail -n +{kept + 1}` gives the rest"
        return msgspec.structs.replace(
            result,
            stdout="".join(lines[:kept]),
            returned=kept,
            truncated=True,
            completeness=msgspec.structs.replace(
                said, complete=False, reasons=[*said.reasons, reason]
            ),
        )

    return shorter


def _pipe_warnings(commands: Sequence[Command]) -> list[str]:
    first, *others = commands
    warnings = []
    if first.reads_pipe:
        warnings.append(f"`{first.program}` was given no file, and nothing is piped to it")
    warnings += [
        f"`{one.program}` does not read what is piped to it, as it is given something else to read"
        for one in others
        if not one.reads_pipe
    ]
    return warnings


def _unsaved_warnings(workspace: Workspace, scope: Scope) -> list[str]:
    unsaved = changed_paths(workspace.buffers, scope)
    if not unsaved:
        return []
    shown = ", ".join(unsaved[:5]) + (", …" if len(unsaved) > 5 else "")
    return [f"the programs read the disk; {len(unsaved)} files have unsaved text: {shown}"]
