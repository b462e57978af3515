"""Words of a question that the code base does not have."""

from __future__ import annotations

import pytest

from ranked_texts import corpus_of
from winnow.ranking.unknown_words import unknown_words

FILES = {
    "shop/cookies.py": '"""Cookies between visits."""\n\n\ndef expire_sessions(store):\n    pass\n',
    "locale/de.po": 'msgid "Voucher"\nmsgstr "Gutschein"\n',
    "shop/baskets/total.py": "def add(prices):\n    return sum(prices)\n",
}


@pytest.mark.parametrize(
    ("query", "unknown"),
    [
        ("how is backpressure handled", ["backpressure", "handled"]),
        # Stems, parts of names, and names of files and folders are known.
        ("which cookie expires a session", []),
        ("total of a basket in the shop", []),
        ("expired baskets kubernetes", ["kubernetes"]),
        # Of four words, one is not worth mentioning.
        ("kubernetes cookies of expired sessions", []),
        # The words of data files are not ranked, but are there; so are parts of words.
        ("Gutschein", []),
        ("tschein", []),
        # A name counts as a whole.
        ("expireSessions", []),
        ("SessionStore", ["SessionStore"]),
        ("Cookies 404", []),
        ("is it the", []),
        ("", []),
        (" ".join(f"unknown{number}" for number in range(13)), []),
    ],
)
def test_words_in_no_text_and_no_path_are_unknown(query: str, unknown: list[str]) -> None:
    assert unknown_words(corpus_of(FILES), query) == unknown


def test_a_text_with_the_parts_of_a_word_does_not_have_it() -> None:
    files = {"a.py": "collect = 1\nselection = 2\ncole = 3\nlecti = 4\n", "b.md": "Größe\n"}
    corpus = corpus_of(files)

    def read(file: int) -> bytes:
        return files[corpus.paths[file]].encode()

    assert unknown_words(corpus, "colection") == []
    assert unknown_words(corpus, "colection", read) == ["colection"]
    assert unknown_words(corpus, "colection", lambda file: None) == []
    assert unknown_words(corpus, "SELECTION", read) == []
    assert unknown_words(corpus, "geprüft größe", read) == ["geprüft"]
