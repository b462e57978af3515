"""Ask the cluster while the local search runs, within its time, with consent, and logged.

Whatever goes wrong there, the local answer stands, and :class:`SharedState` says what it lacks.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from winnow.cluster.connection import ClusterUnavailable, address_problem, connected
from winnow.cluster.documents import Branch, TextSource
from winnow.cluster.shared import Candidates
from winnow.config import ClusterSettings
from winnow.index.commits.git_log import count_commits_since
from winnow.privacy.outbound import destination_of, is_this_machine
from winnow.privacy.outbound.audit_log import RequestEnd, SentRequest, now
from winnow.processes.waiting import wait_within
from winnow.search.shared import consent
from winnow.search.shared.clones import Clone, clones_in
from winnow.search.shared.place import is_inside
from winnow.text.plural import counted
from winnow.types import SharedState
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

SERVICE = "search cluster"

# Asks the cluster, with the index and the patterns of repositories.
Ask = Callable[["AsyncOpenSearch", str, Sequence[str]], Awaitable[Candidates]]


class SharedFile(Struct, frozen=True):
    """A file in the cluster: its branch, the path in its repository, and its text."""

    branch: Branch
    path: str
    source: TextSource


class SharedAnswer(Struct, frozen=True):
    """The files that the cluster found, the best first, and what is missing. ``total`` is the
    number of texts that it found, of which these files may have a part only."""

    state: SharedState
    files: Sequence[SharedFile] = ()
    total: int = 0


class SharedRequest:
    """A request to the cluster, which runs until :meth:`answer` is awaited, or its time is over.

    ``said`` is the text of the request, for the log. The files of repositories that are open in
    the workspace are left out, unless it ``reads_open``. Use it as a context manager: leaving it
    cancels the request.
    """

    def __init__(
        self,
        workspace: EngineWorkspace,
        patterns: Sequence[str],
        said: str,
        ask: Ask,
        *,
        reads_open: bool = False,
        least_seconds: float = 0.0,
    ) -> None:
        self._workspace = workspace
        self._patterns = list(dict.fromkeys(patterns))
        self._said = said
        self._ask = ask
        self._seconds = max(workspace.config.cluster.seconds, least_seconds)
        self._reads_open = reads_open
        self._clones: list[Clone] = []
        self._task = asyncio.create_task(self._answer())

    async def __aenter__(self) -> SharedRequest:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})

    async def answer(self) -> SharedAnswer:
        """Return what the cluster found in its time."""
        return await self._task

    async def _answer(self) -> SharedAnswer:
        settings = self._workspace.config.cluster
        if problem := address_problem(settings) or consent.problem(self._workspace):
            return _nothing(problem)
        # Takes half a second, once in a process; the time of the request begins after that.
        with contextlib.suppress(ImportError):
            await asyncio.to_thread(importlib.import_module, "opensearchpy")
        if not self._reads_open:
            roots = self._workspace.roots()
            self._clones = await asyncio.to_thread(lambda: list(clones_in(roots)))
        try:
            return await wait_within(self._found_by(settings), self._seconds)
        except asyncio.TimeoutError:
            milliseconds = round(1000 * self._seconds)
            return _nothing(f"the cluster did not answer within {milliseconds} ms")
        except ClusterUnavailable as error:
            return _nothing(str(error))

    async def _found_by(self, settings: ClusterSettings) -> SharedAnswer:
        candidates = await self._logged(settings)
        found = self._found(candidates)
        behind = await self._behind(
            [candidates.branches[ref] for ref in found.state.open_here or ()]
        )
        state = msgspec.structs.replace(found.state, commits_behind=behind or None)
        return msgspec.structs.replace(found, state=state)

    async def _behind(self, branches: Sequence[Branch]) -> dict[str, int]:
        """Return the number of commits that the cluster lacks, by branch that lacks some."""
        workspace = self._workspace
        behind: dict[str, int] = {}
        git = workspace.installed.which("git")
        environment = workspace.installed.inherited_environment()
        for branch in branches:
            for clone in self._clones:
                if clone.has(branch.ref):
                    count = await count_commits_since(
                        *(branch.commit, clone.root, workspace.processes, git, environment)
                    )
                    behind |= {branch.ref: count} if count else {}
        return behind

    async def _logged(self, settings: ClusterSettings) -> Candidates:
        egress = self._workspace.models.egress
        sent = SentRequest(
            id=os.urandom(8).hex(),
            time=now(),
            purpose="shared_search",
            workspace=egress.roots(),
            model=SERVICE,
            provider="opensearch",
            destination=destination_of(settings.addresses[0]),
            remote=not all(map(is_this_machine, settings.addresses)),
            files=[],
            bytes=len(self._said.encode("utf-8", "replace")),
            redactions={},
            tokens=0,
        )
        try:
            await asyncio.to_thread(egress.log.begin, sent, lambda used: None, needs_use=False)
        except OSError as error:
            if sent.remote:
                raise ClusterUnavailable(f"cannot write the log of requests: {error}") from error
        outcome: RequestEnd | None = None
        try:
            # The time is limited by `_answer`, which says so.
            environment, seconds = self._workspace.environment, 2 * self._seconds
            async with connected(settings, environment, seconds=seconds) as client:
                found = await self._ask(client, settings.index, self._patterns)
            outcome = RequestEnd(id=sent.id, time=now(), outcome="answered")
            return found
        except ClusterUnavailable:
            outcome = RequestEnd(id=sent.id, time=now(), outcome="failed")
            raise
        finally:
            ended = outcome or RequestEnd(id=sent.id, time=now(), outcome="broken_off")
            # In a thread that nothing waits for: the time may be over.
            asyncio.get_running_loop().run_in_executor(None, _log_end, egress.log.end, ended)

    def _found(self, candidates: Candidates) -> SharedAnswer:
        branches = candidates.branches
        here = [ref for ref in branches if any(clone.has(ref) for clone in self._clones)]
        searched = [branch for ref, branch in branches.items() if ref not in here]
        files = [
            SharedFile(branches[place.ref], place.path, text)
            for text in candidates.texts
            for place in text.locations
            if place.ref in branches and place.ref not in here and is_inside(place.path)
        ]
        reason = None
        if candidates.failed:
            reason = f"{candidates.failed} shards of the cluster did not answer"
        if not branches:
            reason = "the cluster has none of these repositories, or you have no access to them"
        skipped = sum(sum(branch.skipped.values()) for branch in searched)
        masked = sum(branch.masked for branch in searched)
        state = SharedState(
            answered=True,
            reason=reason,
            searched=len(searched),
            missing=list(candidates.missing) or None,
            open_here=here or None,
            skipped=skipped or None,
            masked=masked or None,
            oldest_push=min((branch.pushed_at for branch in searched), default=None),
        )
        return SharedAnswer(state, files, candidates.total)


def _log_end(log: Callable[[RequestEnd], None], ended: RequestEnd) -> None:
    with contextlib.suppress(OSError):
        log(ended)


def _nothing(reason: str) -> SharedAnswer:
    return SharedAnswer(SharedState(answered=False, reason=reason))


def not_written(answer: SharedAnswer, error: OSError) -> SharedAnswer:
    """Return an answer without the files, which cannot be written to a temporary folder."""
    reason = f"its texts cannot be written to a temporary folder: {error.strerror}"
    return SharedAnswer(msgspec.structs.replace(answer.state, answered=False, reason=reason))


def described(state: SharedState) -> list[str]:
    """Return why an answer may lack rows of the cluster, in words."""
    reasons = []
    if state.reason:
        reasons.append(f"repositories: {state.reason}")
    if state.missing and state.searched:
        reasons.append(f"repositories: the cluster does not have {', '.join(state.missing)}")
    if state.skipped:
        skipped = counted(state.skipped, "file is", "files are")
        reasons.append(f"repositories: {skipped} not in the cluster")
    return reasons
