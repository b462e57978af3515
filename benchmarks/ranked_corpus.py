"""Build the ranked corpus of a folder without an index on disk, for training and features."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from pathlib import Path

import numpy as np

from winnow.index.builder.extraction import extract_file
from winnow.index.commits.git_log import LOG, MOST_COMMITS, OPTIONS, parse_log
from winnow.index.commits.history import CommitHistory, CommitTable
from winnow.index.commits.messages import commit_of
from winnow.index.postings.contents import Contents
from winnow.index.postings.corpus import Corpus, CorpusPart
from winnow.index.postings.segment import MOST_DOCUMENTS, in_memory
from winnow.index.store.file_record import IndexJob
from winnow.symbols.extract.packed import unpack
from winnow.symbols.file_symbols import Definition
from winnow.text.git_program import LOG_SAFE

MOST_BYTES = 2_000_000


def history_at(clone: Path, revision: str, below: str = "") -> CommitHistory | None:
    """Return the commits of a bare clone up to a revision; None if it has no such revision.

    Paths are relative to the folder ``below`` of the repository. A query must not be about one of
    these commits: its message would be the answer.
    """
    relative = [f"--relative={below.rstrip('/')}/"] if below else []
    which = [*relative, f"-n{MOST_COMMITS}", revision, "--"]
    command = ["git", "--git-dir", str(clone), *LOG, *LOG_SAFE, *OPTIONS, *which]
    log = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if log.returncode:
        return None
    commits = [commit_of(commit, masked=True, rules=()) for commit in parse_log(log.stdout)]
    return CommitHistory(CommitTable.of(commits))


def corpus_of(folder: Path, embeddings: str, history: CommitHistory | None = None) -> Corpus:
    """Extract all files that ripgrep lists in a folder, like the index workers."""
    command = ["rg", "--files", "--null"]
    listed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True).stdout
    paths = sorted(os.fsdecode(path) for path in listed.split(b"\0") if path)
    contents: dict[int, Contents] = {}
    definitions: dict[str, list[tuple[int, Definition]]] = defaultdict(list)
    for number, path in enumerate(paths):
        job = IndexJob(os.fsencode(folder), os.fsencode(path), MOST_BYTES, embeddings=embeddings)
        record = extract_file(job)
        if record is None:
            continue
        if record.contents is not None:
            contents[number] = record.contents
        if record.symbols is not None:
            for definition in unpack(record.symbols).definitions:
                definitions[definition.name].append((number, definition))
    parts = []
    files = list(contents)
    for start in range(0, len(files), MOST_DOCUMENTS):
        batch = files[start : start + MOST_DOCUMENTS]
        segment = in_memory({number.to_bytes(16, "big"): contents[number] for number in batch})
        documents = np.arange(len(batch), dtype=np.uint16)
        parts.append(CorpusPart(segment, documents, np.array(batch, np.int32)))
    return Corpus(
        parts,
        paths,
        [str(folder)],
        np.zeros(len(paths), np.int32),
        lambda name: definitions.get(name, ()),
        {},
        [history],
    )
