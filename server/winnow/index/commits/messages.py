"""Extract the terms of commit messages, without secrets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winnow.index.commits.git_log import LoggedCommit
from winnow.index.commits.history import Commit
from winnow.index.postings.terms import pack_terms, words


def commit_of(logged: LoggedCommit, *, masked: bool, rules: Sequence[str]) -> Commit:
    """Return what is stored of a commit. If ``masked``, without secrets in its message; ``rules``
    are additional patterns of secrets."""
    message = logged.message
    if masked:
        # Slow to import, and the first search waits for this module.
        from winnow.privacy.secrets import mask_secrets

        message = mask_secrets(message.encode("utf-8", "replace"), rules)[0].decode()
    terms = set(np.frombuffer(pack_terms(words(message)), np.uint64).tolist())
    return Commit(logged.id, tuple(sorted(terms)), logged.paths, logged.renamed)
