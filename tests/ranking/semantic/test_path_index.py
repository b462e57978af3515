"""The index of the words of paths."""

from __future__ import annotations

import random

import numpy as np

from winnow.ranking.semantic.path_index import PathIndex

WORDS = ("parser", "Loader", "test", "index", "src", "http2", "mod", "__init__", "uploadParts")


def test_paths_added_to_an_index_make_the_same_index() -> None:
    chance = random.Random(29)
    paths = list(
        dict.fromkeys(
            "/".join(chance.choices(WORDS, k=chance.randint(1, 4))) + chance.choice((".py", ".rs"))
            for _ in range(300)
        )
    )
    paths[7] = ""  # deleted
    whole = PathIndex(paths)
    for known in (0, 1, 100, len(paths)):
        base = PathIndex(paths[:known])
        terms, ranks = list(base.terms), base.ranks.copy()
        added = PathIndex(paths, base)
        assert (added.terms, added.files) == (whole.terms, whole.files)
        for name in ("name_terms", "name_starts", "folder_terms", "folder_starts", "ranks"):
            assert np.array_equal(getattr(added, name), getattr(whole, name)), name
        assert np.array_equal(added.folders, whole.folders)
        assert np.array_equal(added.parents, whole.parents)
        assert [*map(added.traits, range(len(paths)))] == [*map(whole.traits, range(len(paths)))]
        assert base.terms == terms
        assert np.array_equal(base.ranks, ranks)
