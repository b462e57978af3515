"""Extract the terms of commit messages, without secrets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winnow.index.commits.git_log import LoggedCommit
from winnow.index.commits.history import Commit
from winnow.index.postings.terms import pack_terms, words
from winnow.privacy.secrets import mask_secrets


def commit_of(logged: LoggedCommit, *, masked: bool, rules: Sequence[str]) -> Commit:
    """Return what is stored of a commit. If ``masked``, without secrets in its message; ``rules``
    are additional patterns of secrets."""
    message = logged.message
    if masked:
        message = mask_secrets(message.encode("utf-8", "replace"), rules)[0].decode()
    terms = np.unique(np.frombuffer(pack_terms(words(message)), np.uint64))
    return Commit(logged.id, tuple(terms.tolist()), logged.paths, logged.renamed)
