"""`winnow cluster`: push repositories into a team's search cluster, and describe it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from winnow.frontends.cli.guarded import FAILED, FOUND, NOTHING_FOUND
from winnow.frontends.cli.index_actions import StatusLine, opened_workspace, print_json

if TYPE_CHECKING:
    from winnow.cluster.documents import Branch
    from winnow.search.shared.push import Pushed
    from winnow.search.shared.status import ClusterStatus

T = TypeVar("T")


def add_arguments(cluster: argparse.ArgumentParser) -> None:
    """Add the actions and options of `winnow cluster`."""
    cluster.add_argument(
        "action",
        choices=["push", "remove", "status", "consent", "withdraw"],
        help="'push': make the files of this folder those of a commit of --repository. 'remove':"
        " remove a branch of --repository. 'status': the state of the cluster and the repositories"
        " in it. 'consent': allow searches to send queries to the addresses in your settings."
        " 'withdraw': forget that.",
    )
    cluster.add_argument(
        "--repository",
        metavar="NAME",
        help="with 'push' and 'remove': the name that searches use, such as team/project",
    )
    cluster.add_argument(
        "--branch",
        metavar="NAME",
        default="",
        help="with 'push' and 'remove': a branch, which searches name team/project@BRANCH."
        " Default: the default branch, team/project.",
    )
    cluster.add_argument(
        "--commit",
        metavar="HASH",
        help="with 'push': the commit of the files. Default: the one that is checked out.",
    )
    cluster.add_argument("--json", action="store_true", help="print JSON")
    cluster.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    # These import numpy and more.
    from winnow.cluster.connection import ClusterUnavailable
    from winnow.search.shared.push import PushError

    actions = {
        "push": _push,
        "remove": _remove,
        "status": _status,
        "consent": _consent,
        "withdraw": _consent,
    }
    try:
        return actions[options.action](options)
    except (ClusterUnavailable, PushError) as error:
        print(f"winnow cluster {options.action}: {error}", file=sys.stderr)
        return FAILED


def _repository(options: argparse.Namespace) -> str:
    from winnow.search.shared.push import PushError

    if not options.repository:
        raise PushError("pass the name of the repository: --repository team/project")
    name: str = options.repository
    return name


def _push(options: argparse.Namespace) -> int:
    from winnow.search.shared.push import push

    repository = _repository(options)

    async def run() -> Pushed:
        async with opened_workspace() as workspace:
            branch, commit = options.branch, options.commit
            return await push(workspace, repository, commit, branch, StatusLine())

    pushed = _done(run())
    if options.json:
        print_json(pushed)
    else:
        written = pushed.written
        print(
            f"{_described(pushed.branch)}: {pushed.new:,} new texts, {pushed.moved:,} at other"
            f" paths or removed, {written.bytes / 1e6:.1f} MB sent"
        )
    return FOUND


def _remove(options: argparse.Namespace) -> int:
    from winnow.search.shared.push import remove

    repository = _repository(options)

    async def run() -> int:
        async with opened_workspace() as workspace:
            return await remove(workspace, repository, options.branch)

    texts = _done(run())
    if options.json:
        print_json({"texts": texts})
    else:
        print(f"{texts:,} texts removed" if texts else "the cluster does not have this branch")
    return FOUND if texts else NOTHING_FOUND


def _status(options: argparse.Namespace) -> int:
    from winnow.search.shared.status import cluster_status

    async def run() -> ClusterStatus:
        async with opened_workspace() as workspace:
            return await cluster_status(workspace)

    status = _done(run())
    if options.json:
        print_json(status)
    else:
        print("\n".join(_lines(status)))
    return FOUND


def _consent(options: argparse.Namespace) -> int:
    from winnow.search.shared.consent import give, withdraw

    async def run() -> list[str]:
        async with opened_workspace() as workspace:
            return (give if options.action == "consent" else withdraw)(workspace)

    destinations = _done(run())
    if options.json:
        print_json({"destinations": destinations})
    else:
        may = "may" if options.action == "consent" else "may not"
        print(f"searches that name `repositories` {may} send queries to {', '.join(destinations)}")
    return FOUND


def _done(work: Coroutine[Any, Any, T]) -> T:
    """Return the result, and clear the line of progress."""
    try:
        return asyncio.run(work)
    finally:
        StatusLine()("")


def _lines(status: ClusterStatus) -> list[str]:
    """Return the status in words: the cluster, and a line for each branch."""
    about = [f"OpenSearch {status.version or '(version hidden)'}"]
    if status.health is not None:
        about.append(f"{status.health}, {status.data_nodes} data nodes")
    if status.unassigned_shards:
        about.append(f"{status.unassigned_shards} shards unassigned")
    if status.bytes is not None:
        about.append(f"{status.bytes / 1e6:,.1f} MB")
    return [", ".join(about), *map(_described, status.branches)]


def _described(branch: Branch) -> str:
    from winnow.cluster.mappings import format_of_records

    parts = [
        f"{branch.ref} at {branch.commit[:12]}",
        f"pushed {branch.pushed_at[:16].replace('T', ' ')}",
        f"{branch.files:,} files",
        f"{branch.bytes / 1e6:.1f} MB",
    ]
    parts += [f"{count} skipped ({reason})" for reason, count in branch.skipped.items()]
    if branch.masked:
        parts.append(f"{branch.masked} with secrets replaced")
    if branch.format != format_of_records():
        parts.append("from another version of Winnow: push it again")
    return ", ".join(parts)
