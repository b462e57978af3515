"""The index of the words of paths."""

from __future__ import annotations

import random

import numpy as np
import pytest

from winnow.ranking.semantic.path_index import PathIndex, is_translation

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
        files = np.arange(len(paths))
        for name, found in added.traits(files)._asdict().items():
            assert np.array_equal(found, getattr(whole.traits(files), name)), name
        assert base.terms == terms
        assert np.array_equal(base.ranks, ranks)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("share/translations/app_pt_BR.ts", True),
        ("share/translations/app_fil.ts", True),
        ("src/locale/de/LC_MESSAGES/django.po", True),
        ("src/lang/en.js", True),
        ("resources/lang/en/auth.php", True),
        ("web/locales/en.json", True),
        ("src/i18n/format.ts", False),
        ("src/messages/send.ts", False),
        ("src/languages/python.py", False),
        ("src/settings.json", False),
    ],
)
def test_translations_are_known_by_their_paths(path: str, expected: bool) -> None:
    assert is_translation(path) is expected
