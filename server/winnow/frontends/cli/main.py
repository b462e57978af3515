"""The command line: every tool as a subcommand, and serve, mcp, init-agent, doctor, completions.

Nothing heavy is imported here: `winnow --help` and a search load neither pygls nor an SDK.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect as inspection

import winnow
from winnow.errors import RootRefused
from winnow.frontends import config_files
from winnow.frontends.background import client, control
from winnow.frontends.cli import pager
from winnow.frontends.cli.arguments import Parser, parsed
from winnow.frontends.cli.call import INDEX_SECONDS, Caller, call, folder_named, notices_for
from winnow.frontends.cli.cluster_actions import add_arguments as add_cluster_arguments
from winnow.frontends.cli.guarded import FAILED, FOUND, guarded
from winnow.frontends.cli.help import COMMANDS
from winnow.frontends.cli.index_actions import add_actions
from winnow.frontends.cli.ripgrep_flags import add_flags
from winnow.processes.installing import pip_install
from winnow.processes.memory import return_freed_memory
from winnow.storage.paths import shown_path
from winnow.storage.state_folder import User, notices
from winnow.text.roots import refusal
from winnow.text.search_roots import repository_root
from winnow.tools import TOOLS
from winnow.tools.registry import LIMITS, Tool, ToolField, is_list_of_ranges
from winnow.tools.terminal import Style
from winnow.workspace import EngineWorkspace

TOKEN_VARIABLE = "WINNOW_TOKEN"  # noqa: S105 (a name)
TOKEN_CHARACTERS = 16  # fewer could be guessed
# Where shells look for the completions of a program.
SHELL_FILES = {
    "bash": "~/.local/share/bash-completion/completions/winnow",
    "zsh": "~/.zfunc/_winnow",
    "fish": "~/.config/fish/completions/winnow.fish",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line in this process. Return the exit code: 0 found, 1 nothing found, 2
    error."""
    return guarded(lambda: run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str], *, may_start: bool = False) -> int:
    """Run a command in this process. Return the exit code. Raise what :func:`guarded` catches.

    If it ``may_start`` a background process, a search that an index improves does so first and has
    that run the command: the index is then built there, and once.
    """
    options = parsed(command_parser(), arguments, Path.cwd())
    if may_start and "tool" in options and options.tool.uses_index:
        is_for_process = not getattr(options, "yes", False)
        if is_for_process and control.start_and_wait(Path.cwd(), os.environ):
            # It has been started for this command, and may be slow at its start.
            done = client.run(arguments, control.START_SECONDS)
            if done is not None and done != client.DECLINED:
                return done
    code: int = options.run(options)
    return code


def _forwarded(arguments: Sequence[str]) -> int:
    """Run a command in the background process, if there is one, else in this process."""
    done = client.run(arguments)
    return run(arguments) if done is None or done == client.DECLINED else done


def command_parser(kind: type[Parser] = Parser) -> Parser:
    """Return the parser of the command line. Parsed options have the function `run` and, for a
    tool's command, the `tool`."""
    parser = kind(
        prog="winnow",
        description="Find code, text, symbols and documents. `winnow 'how is a session deleted'`"
        " asks a question; a name, a path and an error message work, too. Without arguments, search"
        " as you type. `winnow COMMAND --help` describes a command.",
    )
    parser.add_argument("--version", action="version", version=f"winnow {winnow.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for tool in TOOLS.values():
        _add_tool(commands, tool)
    add_actions(commands.choices["index"], _forwarded)
    add_cluster_arguments(_add_command(commands, "cluster"))
    serve = _add_command(commands, "serve")
    serve.add_argument(
        "--tcp", metavar="[HOST:]PORT", help="listen on this local port instead of stdin and stdout"
    )
    serve.add_argument(
        "--token",
        metavar="TOKEN",
        help="with --tcp, the token that the client must send in initializationOptions.token;"
        f" default: the environment variable {TOKEN_VARIABLE}, else a generated token, written to"
        " stderr",
    )
    serve.add_argument("--verbose", action="store_true", help="log to stderr")
    serve.set_defaults(run=_serve)
    _add_mcp(commands)
    _add_init_agent(commands)
    doctor = _add_command(commands, "doctor")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.set_defaults(run=_doctor)
    _add_completions(commands)
    return parser


def _add_command(commands: Any, name: str) -> argparse.ArgumentParser:
    """Add a subcommand with its help text."""
    help_ = COMMANDS[name]
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_.title.replace("%", "%%"),
        description=help_.text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


# --- tools ---------------------------------------------------------------------------------


def _add_tool(commands: Any, tool: Tool[Any, Any]) -> None:
    command = _add_command(commands, tool.command)
    for name in tool.old_commands:
        commands.choices[name] = command
    for field in tool.fields:
        if field.name != "path" or not tool.takes_paths:
            _add_field(command, field, tool.for_people.get(field.name, field.default))
    for name in tool.positional:
        if tool.takes_paths:
            command.add_argument(
                "--path", action="append", default=[], dest="paths", help=argparse.SUPPRESS
            )
        command.add_argument(
            name,
            nargs="*" if tool.takes_paths else "?",
            default=argparse.SUPPRESS,
            metavar=name.upper(),
            help="file or folder to search in" if tool.takes_paths else f"same as --{name}",
        )
    add_flags(command, tool)
    if tool.effects.reaches_out:
        command.add_argument(
            "--yes",
            action="store_true",
            help="consent to sending matching lines to a language model, for this call only",
        )
    output = command.add_mutually_exclusive_group()
    output.add_argument(
        "--format",
        choices=["text", "plain", "json"],
        default="text",
        help="text for people, plain text for agents, json for programs; default: text",
    )
    if tool.name != "grep":  # where it means what it means for ripgrep
        output.add_argument(
            *("--json",), action="store_const", const="json", dest="format", help="print JSON"
        )
    command.set_defaults(tool=tool, run=lambda options: _run_tool(tool, options))


def _add_field(command: argparse.ArgumentParser, field: ToolField, default: object) -> None:
    """Add an argument for a field of the params: positional if required, else an option."""
    kind = _given_kind(field)
    options: dict[str, Any] = {"help": field.description.replace("%", "%%")}
    if isinstance(kind, inspection.ListType):
        several = field.name.removeprefix("search_")
        one = f"{several[:-3]}y" if several.endswith("ies") else several.removesuffix("s")
        options["metavar"] = one.upper()
        options |= {"nargs": "+"} if field.required else {"action": "append"}
        if isinstance(kind.item_type, inspection.LiteralType):
            options |= {"choices": list(kind.item_type.values), "metavar": None}
        if is_list_of_ranges(kind):
            options["metavar"] = "START-END"
    elif isinstance(kind, inspection.LiteralType):
        options["choices"] = list(kind.values)
    elif isinstance(kind, inspection.IntType):
        options |= {"type": int, "metavar": "N"}
    elif isinstance(kind, inspection.FloatType):
        options |= {"type": float, "metavar": "N"}
    elif isinstance(kind, inspection.BoolType):
        has_no = default is None or default
        options["action"] = argparse.BooleanOptionalAction if has_no else "store_true"
        options |= {"default": None}
    if field.required:
        command.add_argument(field.name, **options)
        return
    if default and isinstance(default, (str, int, float)):
        options["help"] += f" Default: {default}."
    if field.name not in LIMITS:
        command.add_argument(field.option, **options)
        return
    # In grep, -n is the flag for line numbers.
    short = [] if "grep" in command.prog else ["-n"]
    command.add_argument(*short, field.option, dest=field.name, **options)
    if field.name != "limit":  # its earlier name
        earlier = "--" + field.name.replace("_", "-")
        command.add_argument(earlier, **{**options, "help": argparse.SUPPRESS})


def _given_kind(field: ToolField) -> inspection.Type:
    """Return the type of a field that has a value, such as `int` for `int | None`."""
    kind = field.kind
    if not isinstance(kind, inspection.UnionType):
        return kind
    [given] = (one for one in kind.types if not isinstance(one, inspection.NoneType))
    return given


def _run_tool(tool: Tool[Any, Any], options: argparse.Namespace) -> int:
    folder = Path.cwd()
    style = Style.for_stream(sys.stdout)
    caller = Caller(folder, style, _write_error, sys.stderr.isatty(), _interrupts)
    outcome = asyncio.run(call(tool, options, caller, _opened(tool, options, folder)))
    sys.stderr.write(outcome.errors)
    pager.write(outcome.output)
    sys.stdout.flush()
    if outcome.code != FAILED:
        control.start(folder, os.environ)
    return outcome.code


@contextlib.asynccontextmanager
async def _opened(
    tool: Tool[Any, Any], options: argparse.Namespace, folder: Path
) -> AsyncIterator[EngineWorkspace]:
    """Open a workspace for one call."""
    config, problems = config_files.load(os.environ, repository_root(folder))
    if getattr(options, "yes", False):
        llm = msgspec.structs.replace(config.llm, consent="always")
        config = msgspec.structs.replace(config, llm=llm)
    if tool.switch:
        config = config.turned_on(tool.switch)
    workspace = EngineWorkspace([folder], config, index_seconds=INDEX_SECONDS)
    paths = getattr(options, "path", None) or [""]
    path = paths if isinstance(paths, str) else paths[0]
    if workspace.refusal(folder) and (named := folder_named(path, folder)):
        workspace.change_folders([named], [folder])
    _write_error(notices_for(workspace, problems))
    try:
        yield workspace
    finally:
        await workspace.aclose()


@contextlib.contextmanager
def _interrupts() -> Iterator[asyncio.Event]:
    """Return an event that is set when the user presses Ctrl-C for the first time."""
    interrupted, loop = asyncio.Event(), asyncio.get_running_loop()

    def interrupt(number: int, frame: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(interrupted.set)

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:  # as it is for a shell's background job
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _write_error(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


# --- servers -------------------------------------------------------------------------------


@contextlib.contextmanager
def _loading() -> Iterator[None]:
    """Load a server's modules without garbage collection. Their 100,000 objects live as long as the
    server; scanning them takes a tenth of the start and of every later collection."""
    import gc

    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _log_to_stderr(*, verbose: bool) -> None:
    import logging

    from winnow.frontends.server_process import StderrLog

    logging.basicConfig(
        handlers=[StderrLog()],
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )


def _serve(options: argparse.Namespace) -> int:
    import logging
    import secrets

    with _loading():
        from winnow.frontends.lsp.lifecycle import create_server
        from winnow.frontends.lsp.transport import serve_io, serve_tcp
        from winnow.frontends.server_process import ignore_closing_generators

    return_freed_memory()
    ignore_closing_generators()
    _log_to_stderr(verbose=options.verbose)
    # pygls logs every error response, with its traceback.
    logging.getLogger("pygls").setLevel(logging.INFO if options.verbose else logging.CRITICAL)
    # Removed from the environment, which children inherit.
    token = os.environ.pop(TOKEN_VARIABLE, None) if options.token is None else options.token
    if not options.tcp:
        if options.token is not None:
            print("winnow serve: `--token` needs `--tcp`.", file=sys.stderr)
            return FAILED
        return serve_io(create_server())
    host, _, port = options.tcp.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if host not in ("127.0.0.1", "::1", "localhost") or not port.isdigit() or int(port) > 65535:
        print(
            f"winnow serve: {options.tcp} is not a port up to 65535, alone or behind a"
            " loopback address, such as 127.0.0.1:8765. The server listens only on this machine,"
            " because clients can read its files.",
            file=sys.stderr,
        )
        return FAILED
    if token is not None and len(token) < TOKEN_CHARACTERS:
        print(
            f"winnow serve: the token needs at least {TOKEN_CHARACTERS} characters. Omit it to"
            " generate one.",
            file=sys.stderr,
        )
        return FAILED
    made = token or secrets.token_urlsafe()
    return serve_tcp(create_server(), host, int(port), made, generated=token is None)


def _add_mcp(commands: Any) -> None:
    mcp = _add_command(commands, "mcp")
    mcp.add_argument(
        "folders", nargs="*", metavar="FOLDER", help="folders to search; default: the current one"
    )
    mcp.add_argument(
        "--max-tokens",
        type=_count,
        metavar="N",
        help="shorten answers to about N tokens unless the agent sets a limit; 0 means no limit."
        " Default: 8000.",
    )
    mcp.add_argument(
        "--tools",
        choices=["short", "all"],
        default="short",
        help="short: search, grep, references and read; all: every tool. Default: short.",
    )
    mcp.add_argument(
        "--structured",
        action="store_true",
        help="also send answers as data (structuredContent): several agents show it to their model"
        " instead of the shorter text",
    )
    mcp.add_argument("--verbose", action="store_true", help="log to stderr")
    mcp.set_defaults(run=_mcp)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("expected a number, 0 or more")
    return int(text)


def _mcp(options: argparse.Namespace) -> int:
    try:
        with _loading():
            from winnow.frontends import mcp
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types"):  # the second if an older version is installed
            raise
        print(
            "winnow mcp: the package mcp (2.3 or newer) is not installed:"
            f" {pip_install('winnow-ls[mcp]')}",
            file=sys.stderr,
        )
        return FAILED
    folders = [Path(os.path.abspath(name)) for name in options.folders or [Path.cwd()]]
    for folder in folders:
        if not folder.is_dir():
            print(f"winnow mcp: {shown_path(str(folder))[0]} is not a folder", file=sys.stderr)
            return FAILED
    config, problems = config_files.load(os.environ, repository_root(folders[0]))
    for folder in folders if not config.workspace.allow_home_root else ():
        if why := refusal(folder, os.environ):
            print(f"winnow mcp: {RootRefused(shown_path(str(folder))[0], why)}", file=sys.stderr)
            return FAILED
    return_freed_memory()
    _log_to_stderr(verbose=options.verbose)
    user = User.of(os.environ, config.index.location)
    for problem in (*problems, *notices(map(repository_root, folders), user)):
        print(f"winnow: {problem}", file=sys.stderr)
    budget = mcp.MAX_TOKENS if options.max_tokens is None else options.max_tokens
    return mcp.serve(
        *(folders, config),
        max_tokens=budget,
        structured=options.structured,
        all_tools=options.tools == "all",
    )


def _add_init_agent(commands: Any) -> None:
    from winnow.frontends.cli.agents import AGENTS

    init = _add_command(commands, "init-agent")
    agents: Any = init.add_argument(
        "agents",
        nargs="*",
        metavar="AGENT",
        help=f"one of {', '.join(AGENTS)}, or all",
    )
    # For `winnow completions`. With `choices`, argparse would reject the empty list.
    agents.complete = (*AGENTS, "all")
    init.add_argument("--print", action="store_true", help="print the entries and write nothing")
    init.set_defaults(run=_init_agent)


def _init_agent(options: argparse.Namespace) -> int:
    from winnow.frontends.cli.agents import AGENTS, found_in, introduce
    from winnow.processes.programs import InstalledPrograms

    unknown = [name for name in options.agents if name not in (*AGENTS, "all")]
    if unknown:
        known = ", ".join((*AGENTS, "all"))
        print(f"winnow init-agent: unknown agent {unknown[0]!r}; use {known}", file=sys.stderr)
        return FAILED
    folder = repository_root(Path.cwd())
    names = list(AGENTS) if "all" in options.agents else options.agents
    home = Path.home()
    names = names or found_in(folder, home)
    installed = InstalledPrograms(os.environ, [Path.cwd(), folder])
    done = [
        introduce(AGENTS[name], folder, home, installed, write=not options.print) for name in names
    ]
    for one in done:
        print(one.text, file=sys.stdout if one.good else sys.stderr)
    if others := [name for name in AGENTS if name not in names]:
        print(f"Other agents: winnow init-agent {' '.join(others)}", file=sys.stderr)
    return FOUND if all(one.good for one in done) else FAILED


# --- doctor --------------------------------------------------------------------------------


def _doctor(options: argparse.Namespace) -> int:
    from winnow.frontends.cli.doctor import examine

    findings = examine(Path.cwd(), os.environ)
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(findings)).decode())
    else:
        style = Style.for_stream(sys.stdout)
        for finding in findings:
            missing = style.match("!!") if finding.required else style.bad("--")
            mark = style.good("ok") if finding.good else missing
            print(f"{mark} {finding.subject}: {finding.detail}")
            if finding.advice:
                print(f"   {finding.advice}")
    return FAILED if any(one.required and not one.good for one in findings) else FOUND


# --- completions ---------------------------------------------------------------------------


def _add_completions(commands: Any) -> None:
    files = "\n".join(f"  {shell}: {file}" for shell, file in SHELL_FILES.items())
    command = _add_command(commands, "completions")
    command.description = f"{command.description}\n\nWhere shells look for it:\n{files}"
    command.add_argument("shell", choices=list(SHELL_FILES), metavar="SHELL")
    command.set_defaults(run=_completions)


def _completions(options: argparse.Namespace) -> int:
    from winnow.frontends.cli.completions import script

    print(script(options.shell, command_parser()), end="")
    return FOUND
