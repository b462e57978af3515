"""Run a pipeline of read-only programs."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.documents.rga.settings import settings as rga_settings
from winnow.errors import NotAllowed
from winnow.processes import sandbox
from winnow.processes.children import Child
from winnow.search.bash.allowed_paths import AllowedPaths
from winnow.search.bash.expand import MAX_WORDS, expand
from winnow.search.bash.options import PipelineCommand, command_of
from winnow.search.bash.parse import Word, parse
from winnow.search.bash.programs import PROGRAMS, program_of
from winnow.text.buffers import changed_paths
from winnow.text.scope import Filters, Scope
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

STDERR_BYTES = 8 * 1024
# How long the earlier programs may take to exit and report errors after the last one has exited.
GRACE_SECONDS = 0.1


class PipelineOutput(Struct, frozen=True):
    """The output of a pipeline that ran in the folder `root`.

    `exit_code` is None if a program was killed.
    """

    root: Path
    stdout: str
    stderr: str
    exit_code: int | None
    is_cut: bool
    timed_out: bool
    warnings: list[str]


class _RawOutput(Struct, frozen=True):
    stdout: bytes
    stderr: bytes
    exit_code: int | None = None
    is_cut: bool = False
    timed_out: bool = False


async def run_pipeline(
    workspace: EngineWorkspace, line: str, seconds: int, limit: int, progress: Progress
) -> PipelineOutput:
    """Run a command line for up to `seconds`, and return up to `limit` bytes of its output.

    Raises NotAllowed, ProgramNotInstalled, NoWorkspace, InvalidParams, and SearchFailed if a
    program cannot be started.
    """
    if not workspace.config.bash.enabled:
        raise NotAllowed("bash", "it is off: set bash.enabled in the user's settings")
    scope = workspace.scope(Filters())
    allowed = AllowedPaths.of_scope(scope)
    # Patterns may scan large folders.
    commands = await asyncio.to_thread(commands_of, line, allowed)
    for command in commands:
        if program_of(command.program).check:
            _check_sandbox(workspace, command.program)
    progress(f"Running {' | '.join(command.program for command in commands)}")
    async with workspace.pipelines:
        output = await _run(workspace, commands, allowed, seconds, limit)
    warnings = [*_pipe_warnings(commands), *_unsaved_warnings(workspace, scope)]
    if any(command.program == "rg" for command in commands):
        warnings += workspace.ignore_files.warnings()
    return PipelineOutput(
        scope.root,
        _decoded(output.stdout, is_complete=not (output.is_cut or output.timed_out)),
        _decoded(output.stderr[:STDERR_BYTES], is_complete=False),
        output.exit_code,
        output.is_cut,
        output.timed_out,
        warnings,
    )


def _check_sandbox(workspace: EngineWorkspace, program: str) -> None:
    """Raise NotAllowed if the kernel can't confine a program that runs scripts."""
    if not sandbox.is_available() or not sandbox.is_of_system(workspace.installed.find(program)):
        raise NotAllowed(program, "it runs only in the kernel's sandbox, which is missing here")


def commands_of(line: str, allowed: AllowedPaths) -> list[PipelineCommand]:
    """Parse a command line into programs with arguments that are safe to pass on.

    Raises NotAllowed for everything that is not known to be harmless, and InvalidParams if the line
    names no program.
    """
    parsed = [(program_of(words[0].text), words[1:]) for words in parse(line)]
    return [
        command_of(
            program,
            _expanded(words, allowed),
            allowed,
            piped=place > 0,
            last=place == len(parsed) - 1,
        )
        for place, (program, words) in enumerate(parsed)
    ]


def _expanded(words: Sequence[Word], allowed: AllowedPaths) -> list[str]:
    expanded: list[str] = []
    for word in words:
        expanded += expand(word, allowed)
        if len(expanded) > MAX_WORDS:
            raise NotAllowed(word.written, f"there are more than {MAX_WORDS} arguments: use find")
    return expanded


async def _run(
    workspace: EngineWorkspace,
    commands: Sequence[PipelineCommand],
    allowed: AllowedPaths,
    seconds: int,
    limit: int,
) -> _RawOutput:
    """Run the programs. Raises ProgramNotInstalled and SearchFailed."""
    deadline = asyncio.get_running_loop().time() + seconds
    if any(command.program == "rga" for command in commands):
        await workspace.ignore_files.scan()  # no sandbox stops rga from following symlinks there
    with _prepared(workspace, commands, allowed) as (arguments, environment):
        programs = [
            (words[0], command.program) for words, command in zip(arguments, commands, strict=True)
        ]
        uses_ripgrep = any(name == "rg" for _, name in programs)
        watchdogs = {workspace.ripgrep: workspace.ignore_files.watchdog()} if uses_ripgrep else {}
        async with workspace.processes.pipeline(
            arguments,
            cwd=Path(allowed.folder),
            deadline=deadline,
            environment=environment,
            # rga's programs need files that no list could name: fonts, caches, their own data.
            unsandboxed=[path for path, name in programs if name == "rga"],
            alone=[path for path, name in programs if PROGRAMS[name].check],
            watchdogs=watchdogs,
        ) as children:
            output = await _read(children, limit)
    return msgspec.structs.replace(output, stderr=_without_folders(output.stderr, programs))


@contextlib.contextmanager
def _prepared(
    workspace: EngineWorkspace, commands: Sequence[PipelineCommand], allowed: AllowedPaths
) -> Iterator[tuple[list[list[str]], dict[str, str]]]:
    """Yield argument lists and the environment. Raises ProgramNotInstalled."""
    with contextlib.ExitStack() as stack:
        arguments: list[list[str]] = []
        folders: list[str] = []
        for command in commands:
            extra: tuple[str, ...] = ()
            if command.program == "rga":
                context = rga_settings(workspace.installed, workspace.ripgrep)
                settings = stack.enter_context(context)
                options, _ = workspace.ignore_files.protect(
                    command.arguments, allowed.folder, sandboxed=False
                )
                extra = (*settings.arguments, *options)
                folders.append(settings.programs)
            if command.program == "rg":
                path = workspace.ripgrep
                options, _ = workspace.ignore_files.protect(command.arguments, allowed.folder)
                extra = tuple(options)
            else:
                path = workspace.installed.find(command.program)
            arguments.append([path, *extra, *command.arguments])
        yield arguments, workspace.installed.restricted_environment(*folders)


async def _read(children: Sequence[Child], limit: int) -> _RawOutput:
    """Read the output, until the programs exit or it exceeds `limit` bytes."""
    *earlier, last = children
    stdout = bytearray()
    async for chunk in last.chunks():
        stdout += chunk
        if len(stdout) > limit:
            return _RawOutput(bytes(stdout[:limit]), _stderr(children), is_cut=True)
    code = await last.wait()
    waits = [asyncio.ensure_future(child.wait()) for child in earlier]
    if waits:
        _, late = await asyncio.wait(waits, timeout=GRACE_SECONDS)
        for wait in late:
            wait.cancel()
    timed_out = any(child.timed_out for child in children)
    # Shells report a program killed by a signal in the same way.
    exit_code = None if timed_out else code if code >= 0 else 128 - code
    return _RawOutput(bytes(stdout), _stderr(children), exit_code, timed_out=timed_out)


def _stderr(children: Sequence[Child]) -> bytes:
    return b"".join(child.stderr.encode() for child in children)


def _without_folders(stderr: bytes, programs: Sequence[tuple[str, str]]) -> bytes:
    """Replace the paths of programs at the start of lines with their names."""
    for path, name in programs:
        at_start = re.compile(rb"^" + re.escape(os.fsencode(path)) + rb"(?=: )", re.M)
        stderr = at_start.sub(name.encode(), stderr)
    return stderr


def _decoded(raw: bytes, *, is_complete: bool) -> str:
    """Decode bytes; unless they are complete, drop a character that is cut in two at the end."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(raw, final=is_complete)


def _pipe_warnings(commands: Sequence[PipelineCommand]) -> list[str]:
    first, *later = commands
    warnings = []
    if first.reads_pipe:
        warnings.append(f"`{first.program}` has no file to read, and nothing is piped to it")
    warnings += [
        f"`{command.program}` does not read the pipe: its arguments name something else to read"
        for command in later
        if not command.reads_pipe
    ]
    return warnings


def _unsaved_warnings(workspace: EngineWorkspace, scope: Scope) -> list[str]:
    unsaved = changed_paths(workspace.buffers, scope)
    if not unsaved:
        return []
    shown = ", ".join(unsaved[:5]) + (", …" if len(unsaved) > 5 else "")
    return [f"the programs read files from disk; {len(unsaved)} have unsaved changes: {shown}"]
