"""A model's reason contains no link in any spelling, and keeps file names (#21)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from link_spellings import AFTER, BEFORE, DATA, HOSTS, PATHS, SCHEMES, contains_link, spellings
from winnow.ranking.answer import clean_reason

PIECES = st.lists(
    st.sampled_from([*SCHEMES, *HOSTS, *PATHS, *BEFORE, *AFTER, "[a](", "](", "src/a.py"])
    | st.text(max_size=4),
    max_size=10,
)


def test_reasons_contain_no_link_in_any_spelling() -> None:
    made = dict.fromkeys(spellings())
    assert len(made) > 10_000
    left = {text: reason for text in made if contains_link(reason := clean_reason(text))}
    assert left == {}


def test_reasons_contain_no_data_of_a_link() -> None:
    # `evil.md/x` loses its slash because it can be a file, an invisible character becomes a space,
    # and `[.][a]` a dot; no program makes a link of the rest.
    excepted = ("\u200b", "[.][")
    made = [text for text in spellings() if not any(map(text.__contains__, excepted))]
    reasons = dict.fromkeys(map(clean_reason, made))
    assert [reason for reason in reasons if DATA in reason and "evil.md" not in reason] == []


@given(PIECES)
@example(["<", f"/%41{DATA}"])
def test_pieces_of_links_do_not_form_a_link(pieces: list[str]) -> None:
    reason = clean_reason("".join(pieces))
    assert not contains_link(reason), reason
    assert clean_reason(reason) == reason


@pytest.mark.parametrize(
    "reason",
    [
        "src/foo.py:12 calls it",
        "django.db.models/query.py builds the query",
        "see README.md and README.md:12",
        "pkg/mod.go, cmd/main.rs:10 and lib/app.js",
        "vendor/github.com/spf13/cobra/command.go defines it",
        "imported by `os.path` and django.contrib.auth.models",
        "src/next.js/pages/index.tsx",
        "version 1.2.3, v4.18.0-rc.1, >=3.11,<4 or 10.0.0.1",
        "the class std::vec and a::b",
        "the decorator @pytest.mark.parametrize",
        "actions/checkout@v4.1 in .github/workflows/test.yml",
        "C:\\Users\\x\\a.py",
        "./a/../b.py and ~/x.sh",
        "a comment // TODO: here; and/or 1/2",
        "is it in query.py? yes",
        "key: value, ratio 3:4, lines 3-9, x=1",
        "self.data: list",
    ],
)
def test_reasons_keep_names_of_files_and_modules(reason: str) -> None:
    assert clean_reason(reason) == " ".join(reason.split())


def test_two_files_joined_by_a_slash_are_separated() -> None:
    assert clean_reason("models.py/views.py do it") == "models.py / views.py do it"
