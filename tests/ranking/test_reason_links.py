"""A model's reason holds no link in any spelling, and keeps the names of files (#21)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from link_spellings import AFTER, BEFORE, DATA, HOSTS, PATHS, SCHEMES, leads_somewhere, spellings
from winnow.ranking.answer import clean_reason

PIECES = st.lists(
    st.sampled_from([*SCHEMES, *HOSTS, *PATHS, *BEFORE, *AFTER, "[a](", "](", "src/a.py"])
    | st.text(max_size=4),
    max_size=10,
)


def test_no_spelling_of_a_link_is_left_in_a_reason() -> None:
    made = dict.fromkeys(spellings())
    assert len(made) > 10_000
    left = {text: reason for text in made if leads_somewhere(reason := clean_reason(text))}
    assert left == {}


def test_no_data_of_a_link_is_left_in_a_reason() -> None:
    # Of `evil.md/x` the slash goes, since it can be a file, a sign that cannot be seen becomes a
    # space, and `[.][a]` a dot; no program makes a link of the rest.
    excepted = ("\u200b", "[.][")
    made = [text for text in spellings() if not any(map(text.__contains__, excepted))]
    reasons = dict.fromkeys(map(clean_reason, made))
    assert [reason for reason in reasons if DATA in reason and "evil.md" not in reason] == []


@given(PIECES)
@example(["<", f"/%41{DATA}"])
def test_no_pieces_of_links_make_up_a_link(pieces: list[str]) -> None:
    reason = clean_reason("".join(pieces))
    assert not leads_somewhere(reason), reason
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
def test_names_of_files_and_modules_stay_in_a_reason(reason: str) -> None:
    assert clean_reason(reason) == " ".join(reason.split())


def test_two_files_with_a_slash_between_them_are_set_apart() -> None:
    assert clean_reason("models.py/views.py do it") == "models.py / views.py do it"
