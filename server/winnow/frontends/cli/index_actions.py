"""Actions of `winnow index` that only the command line has: on processes and archives."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from winnow.errors import SearchError
from winnow.frontends import config_files
from winnow.frontends.background import client, control
from winnow.frontends.cli.guarded import FAILED, FOUND, NOTHING_FOUND
from winnow.text.search_roots import repository_root
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.search.index.archive import Manifest, Pulled

HELP = (
    "'export' FILE: write the index into an archive for other machines. 'pull' SOURCE: use such an"
    " archive, from a file, a folder of archives or an HTTPS address."
)


TAKE_FILES = ("export", "pull")
RunCommand = Callable[[list[str]], int]


def add_actions(index: argparse.ArgumentParser, run_command: RunCommand) -> None:
    """Add the actions to `winnow index`. ``run_command`` runs another command."""
    [action] = [one for one in index._actions if one.dest == "action"]
    assert action.choices is not None
    action.choices = [*action.choices, *client.ONLY_HERE]
    action.nargs, action.default, action.required = "?", "status", False
    action.help = f"{action.help} {control.HELP} {HELP} Default: status."
    index.add_argument(
        *("where",),
        nargs="*",
        default=[],
        metavar="FILE|SOURCE",
        help="with 'export' and 'pull': the archives",
    )
    index.add_argument(
        "--all",
        action="store_true",
        help="with 'status' and 'stop': the processes of all your workspaces",
    )
    index.add_argument(
        "--base",
        metavar="ARCHIVE",
        help="with 'export': write only what this archive lacks",
    )
    index.add_argument(
        "--no-signatures",
        action="store_true",
        help="with 'export': leave out the signatures and documentation of definitions, so that no"
        " line of source code is in the archive",
    )
    index.add_argument(
        "--unsigned",
        action="store_true",
        help="with 'export' and 'pull': don't require a signature. Whoever made an unsigned archive"
        " decides what searches find",
    )
    run_tool = index.get_default("run")
    actions = {
        "export": _export,
        "pull": lambda options: _pull(options, run_command),
        "status": lambda options: _status(options, run_command),
        "stop": _processes,
    }

    def run(options: argparse.Namespace) -> int:
        if options.where and options.action not in TAKE_FILES:
            index.error(f"unrecognized arguments: {' '.join(options.where)}")
        code: int = actions.get(options.action, run_tool)(options)
        return code

    index.set_defaults(run=run)


# --- background processes ------------------------------------------------------------------


def _status(options: argparse.Namespace, run_command: RunCommand) -> int:
    """Show the index of this folder and its background process."""
    if options.all or options.format == "json":
        return _processes(options)
    code = run_command(["index-status"])
    _processes(options)
    return code


def _processes(options: argparse.Namespace) -> int:
    """Show or stop background processes."""
    folder = None if options.all else Path.cwd()
    stop = options.action == "stop"
    silent: list[int] = []
    if stop:
        found = control.stop(os.environ, folder)
    else:
        found, silent = control.running(os.environ, folder)
    for pid in silent:
        print(f"winnow index: {control.silence_in_words(pid)}", file=sys.stderr)
    if options.format == "json":
        described = [msgspec.structs.asdict(one) for one in found]
        print_json({"processes": described})
    else:
        for one in found:
            print(control.described(one, stopped=stop))
        if not (found or silent):
            print("no background process")
    return FOUND if found else NOTHING_FOUND


# --- archives ------------------------------------------------------------------------------


def _export(options: argparse.Namespace) -> int:
    """Write the index of this folder into an archive."""
    if len(options.where) != 1:
        return _failed("export", "pass the file to write, such as main.winnow")
    target = Path.cwd() / options.where[0]
    # Costs the import of the index.
    from winnow.search.index.archive import ArchiveError, export_index
    from winnow.search.index.background import open_index

    async def export() -> Manifest:
        async with opened_workspace() as workspace:
            await open_index(workspace)
            return await export_index(
                workspace,
                target,
                base=Path.cwd() / options.base if options.base else None,
                signatures=not options.no_signatures,
                may_be_unsigned=options.unsigned,
            )

    try:
        manifest = asyncio.run(export())
    except (SearchError, ArchiveError) as error:
        return _failed("export", str(error))
    size = target.stat().st_size
    if options.format == "json":
        print_json({"file": str(target), "bytes": size, **_described(manifest)})
    else:
        signed = "signed" if manifest.signature else "not signed"
        print(f"{target.name}: {_words(manifest)}, {size / 1e6:.1f} MB, {signed}")
    return FOUND


def _pull(options: argparse.Namespace, run_command: RunCommand) -> int:
    """Keep archives, and build the index of this folder with them."""
    if not options.where:
        return _failed("pull", "pass an archive: a file, a folder or an HTTPS address")
    from winnow.search.index.archive import ArchiveError, pull_archives

    async def pull() -> list[Pulled]:
        async with opened_workspace() as workspace:
            sources = options.where
            return await pull_archives(
                workspace, sources, StatusLine(), may_be_unsigned=options.unsigned
            )

    try:
        pulled = asyncio.run(pull())
    except (SearchError, ArchiveError) as error:
        return _failed("pull", str(error))
    if options.format == "json":
        print_json({"archives": [_described(one.manifest) for one in pulled]})
        return FOUND
    for one in pulled:
        print(f"{_words(one.manifest)}{'' if one.is_new else ' (already here)'}")
    return run_command(["index", "build"])


class StatusLine(Progress):
    """Shows progress on a terminal's line; an empty message clears it."""

    def __call__(self, message: str, *_: object, **__: object) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{message}")
            sys.stderr.flush()


@asynccontextmanager
async def opened_workspace() -> AsyncIterator[EngineWorkspace]:
    """Open the working folder, and report problems of the settings."""
    folder = Path.cwd()
    config, problems = config_files.load(os.environ, repository_root(folder))
    for problem in problems:
        print(f"winnow: {problem}", file=sys.stderr)
    workspace = EngineWorkspace([folder], config)
    try:
        yield workspace
    finally:
        await workspace.aclose()


def _words(manifest: Manifest) -> str:
    at = f" of commit {manifest.commit[:12]}" if manifest.commit else ""
    what = "texts that another archive lacks" if manifest.base else "texts"
    return f"{manifest.texts:,} {what}{at}, {manifest.created[:10]}"


def _described(manifest: Manifest) -> dict[str, object]:
    return {
        "commit": manifest.commit,
        "created": manifest.created,
        "files": manifest.files,
        "texts": manifest.texts,
        "base": manifest.base,
        "digest": manifest.digest,
        "signed": manifest.signature is not None,
    }


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    print(msgspec.json.format(msgspec.json.encode(value)).decode())


def _failed(action: str, why: str) -> int:
    print(f"winnow index {action}: {why}", file=sys.stderr)
    return FAILED
