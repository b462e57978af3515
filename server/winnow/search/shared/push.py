"""Push the working tree of a repository into the cluster of a team."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from winnow.cluster.connection import ClusterUnavailable, connected
from winnow.cluster.documents import Branch, document_id, document_of
from winnow.cluster.mappings import format_of_records
from winnow.cluster.pushing import (
    TextChange,
    Written,
    changed_paths,
    create_index,
    known_texts,
    name_commit,
    remove_branch,
    write_texts,
)
from winnow.index.builder.workers import IndexWorkers
from winnow.index.commits.git_log import head_commit
from winnow.index.store.file_record import IndexJob, content_key, language_at
from winnow.privacy.outbound.audit_log import now
from winnow.privacy.secrets import is_secret_file, mask_secrets
from winnow.storage.untrusted import UnusableFile, read_untrusted
from winnow.text.buffers import Overlay
from winnow.text.encodings import SAMPLE_BYTES
from winnow.text.listing import list_files
from winnow.text.scope import Filters
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

REPOSITORY = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._/-]{0,200}[A-Za-z0-9_])?")
BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,200}")
COMMIT = re.compile(r"[A-Za-z0-9._-]{1,100}")
# A push runs in CI: a request of it may wait for a node that is being replaced.
REQUEST_SECONDS = 90.0
# Texts whose extraction is in progress at a time.
EXTRACTED_AT_ONCE = 256
LIST_SECONDS = 600.0


class PushError(Exception):
    """A push is not possible. The message says why."""


class Pushed(Struct, frozen=True):
    """The result of a push: the state of the branch, and what was written."""

    branch: Branch
    new: int
    moved: int
    written: Written


class _Text(NamedTuple):
    """The id and the masked text of a file."""

    id: str
    text: bytes


def ref_of(repository: str, branch: str) -> str:
    """Return the name of a branch; the default branch has that of its repository. Raises
    PushError."""
    if not REPOSITORY.fullmatch(repository) or ".." in repository:
        raise PushError("--repository is a name such as team/project: letters, digits and . _ - /")
    if branch and not BRANCH.fullmatch(branch):
        raise PushError("--branch has letters, digits and . _ - + / only")
    return f"{repository}@{branch}" if branch else repository


async def push(
    workspace: EngineWorkspace,
    repository: str,
    commit: str | None,
    branch: str,
    progress: Progress,
) -> Pushed:
    """Write the files of the workspace's folder into the cluster as those of a commit, by default
    the one that is checked out.

    These are the files that a search covers by default. Raises PushError.
    """
    ref = ref_of(repository, branch)
    if len(workspace.search_roots()) != 1:
        raise PushError("push one folder at a time")
    commit = commit or await _head(workspace)
    if not COMMIT.fullmatch(commit):
        raise PushError("--commit has letters, digits and . _ - only")
    try:
        settings, environment = workspace.config.cluster, workspace.environment
        async with connected(settings, environment, seconds=REQUEST_SECONDS, retries=3) as client:
            await create_index(client, settings.index)
            known = await known_texts(client, settings.index, repository)
            files = await _Files.read(workspace, repository, progress)
            new, moved = changed_paths(files.wanted, known, ref)
            written = Written()
            index = settings.index
            changes = files.changes(new, progress)
            await write_texts(client, index, repository, ref, changes, written)
            await write_texts(client, index, repository, ref, _moves(moved), written)
            state = Branch(
                ref=ref,
                commit=commit,
                pushed_at=now(),
                format=files.format,
                files=sum(map(len, files.wanted.values())),
                bytes=files.bytes,
                masked=files.masked,
                skipped=dict(sorted(files.skipped.items())),
            )
            await name_commit(client, index, repository, state)
    except ClusterUnavailable as error:
        raise PushError(str(error)) from error
    return Pushed(state, len(new), len(moved), written)


async def remove(workspace: EngineWorkspace, repository: str, branch: str) -> int:
    """Remove a branch. Return the number of its texts. Raises PushError."""
    ref = ref_of(repository, branch)
    settings, environment = workspace.config.cluster, workspace.environment
    try:
        async with connected(settings, environment, seconds=REQUEST_SECONDS, retries=3) as client:
            index = settings.index
            known = await known_texts(client, index, repository)
            _, moved = changed_paths({}, known, ref)
            # Searches find no text without the state of its branch.
            await remove_branch(client, index, repository, ref)
            await write_texts(client, index, repository, ref, _moves(moved), Written())
            return len(moved)
    except ClusterUnavailable as error:
        raise PushError(str(error)) from error


async def _head(workspace: EngineWorkspace) -> str:
    """Return the commit that is checked out. Raises PushError."""
    installed = workspace.installed
    commit = await head_commit(
        workspace.search_roots()[0],
        workspace.processes,
        installed.which("git"),
        installed.inherited_environment(),
    )
    if commit is None:
        raise PushError("this folder has no git commit: pass --commit")
    return commit


async def _moves(moved: dict[str, frozenset[str]]) -> AsyncIterator[TextChange]:
    # Places are added before others are removed.
    for id_, paths in sorted(moved.items(), key=lambda item: not item[1]):
        yield TextChange(id_, sorted(paths))


class _Files:
    """The files of a working tree: ``wanted`` are their paths by the id of their text."""

    def __init__(self, workspace: EngineWorkspace, repository: str) -> None:
        self.wanted: dict[str, list[str]] = {}
        self.skipped: Counter[str] = Counter()
        self.masked = 0
        self.bytes = 0
        self.format = format_of_records()
        self._workspace = workspace
        self._repository = repository
        self._root = workspace.search_roots()[0]

    @classmethod
    async def read(cls, workspace: EngineWorkspace, repository: str, progress: Progress) -> _Files:
        """List and read the files."""
        files = cls(workspace, repository)
        ripgrep = workspace.run_ripgrep(LIST_SECONDS)
        listing = await list_files(ripgrep, workspace.scope(Filters()), Overlay())
        if listing.timed_out or listing.unreadable:
            raise PushError("not all files of the folder can be listed")
        paths = sorted(listing.paths)
        for number, path in enumerate(paths):
            if not number % 200:
                progress(f"{number} of {len(paths)} files read")
                await asyncio.sleep(0)
            text = await asyncio.to_thread(files._read, path, count=True)
            if text is not None:
                files.bytes += len(text)
                files.wanted.setdefault(files._id(path, text), []).append(path)
        return files

    async def changes(self, new: Sequence[str], progress: Progress) -> AsyncIterator[TextChange]:
        """Yield the texts that the cluster lacks."""
        workspace = self._workspace
        limits, index = workspace.config.limits, workspace.config.index
        workers = IndexWorkers(workspace.processes, workspace.environment, limits.parse_seconds)
        done = 0
        try:
            for start in range(0, len(new), EXTRACTED_AT_ONCE):
                texts: dict[str, _Text] = {}
                for id_ in new[start : start + EXTRACTED_AT_ONCE]:
                    path = self.wanted[id_][0]
                    text = await asyncio.to_thread(self._read, path)
                    if text is None or self._id(path, text) != id_:
                        raise PushError(f"{path} has changed during the push: push again")
                    texts[path] = _Text(id_, text)
                jobs = [
                    IndexJob(
                        b"",
                        path.encode("utf-8", "surrogateescape"),
                        limits.parse_bytes,
                        text=found.text,
                        masked=index.enable_sensitive_filtering,
                        max_parsed=limits.parse_bytes,
                        rules=workspace.config.secret_rules,
                        part="definitions",
                    )
                    for path, found in texts.items()
                ]
                async with contextlib.aclosing(workers.extract(jobs)) as answers:
                    async for job, record in answers:
                        path = job.path.decode("utf-8", "surrogateescape")
                        id_, raw = texts[path]
                        done += 1
                        progress(f"{done} of {len(new)} texts pushed")
                        if record is None:
                            continue
                        key, decoded = self._key(path, raw), raw.decode("utf-8")
                        document = document_of(self._repository, self.format, key, decoded, record)
                        yield TextChange(id_, self.wanted[id_], document)
        finally:
            await workers.aclose()

    def _id(self, path: str, text: bytes) -> str:
        return document_id(self._repository, self.format, self._key(path, text))

    def _key(self, path: str, text: bytes) -> bytes:
        return content_key(path, text, language_at(path, text))

    def _read(self, path: str, *, count: bool = False) -> bytes | None:
        """Return the masked text of a file; None for a file that is not pushed."""
        reason, masked, text = "", 0, b""
        limits = self._workspace.config.limits
        file = Path(self._root, path)
        try:
            path.encode("utf-8")
            if file.stat().st_size > limits.parse_bytes:
                reason = "too_large"
            else:
                text = read_untrusted(file, limits.parse_bytes)
        except (UnusableFile, OSError):
            reason = "unreadable"
        except UnicodeEncodeError:
            reason = "not_utf8"
        if not reason and self._workspace.config.index.enable_sensitive_filtering:
            if is_secret_file(path):
                reason = "secret"
            else:
                text, masked = mask_secrets(text, self._workspace.config.secret_rules)
        if not reason:
            reason = _why_not_text(text)
        if count:
            self.masked += bool(masked) and not reason
            # A search of text covers no binary files either.
            self.skipped.update([reason] if reason not in ("", "binary") else [])
        return None if reason else text


def _why_not_text(text: bytes) -> str:
    if b"\0" in text:
        return "binary" if b"\0" in text[:SAMPLE_BYTES] else "partly_binary"
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return "not_utf8"
    return ""
