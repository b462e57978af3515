"""Function words of questions in other languages than English."""

from __future__ import annotations

import pytest

from winnow.search.answer.function_words import without_function_words


@pytest.mark.parametrize(
    ("query", "left"),
    [
        (
            "Benachrichtigung, wenn die Datenbank mit der Datei gesperrt wird",
            "Benachrichtigung Datenbank Datei gesperrt",
        ),
        ("où est la clé de la base", "clé base"),
        ("cómo se guarda la sesión en el disco", "guarda sesión disco"),
        ("onde e como são gravadas as sessões", "gravadas as sessões"),
        ("dove viene salvata la sessione e come", "salvata sessione"),
        ("waar wordt de sessie op schijf bewaard", "sessie schijf bewaard"),
    ],
)
def test_function_words_are_left_out(query: str, left: str) -> None:
    assert without_function_words(query).replace(",", "").split() == left.split()


@pytest.mark.parametrize(
    "query",
    [
        "where does the die method of DES end in the log",
        "how is the de locale chosen on a la carte pages",
        "pain in the neck: set up a no-op",
        "die Datenbank",
        "der die das",
        "",
    ],
)
def test_other_queries_stay_as_they_are(query: str) -> None:
    assert without_function_words(query) == query
