"""The parts of a query, and the time to find them."""

from __future__ import annotations

import random
import time

import pytest

from winnow.ranking.query.frames import Frame
from winnow.ranking.query.parts import parse_query
from winnow.types import QUERY_CHARACTERS

REPORT = """\
Cookies are dropped: `requests.Session.send` and `max_retries`

See https://github.com/psf/requests/blob/main/src/requests/sessions.py#L120, tests/test_x.py and
app.py:33 with --no-cache or FLASK_ENV=1 (v2.3.1, 2.0.0rc1, >=3.1, 0xdeadbeef), i.e. the "too many
redirects" message of https://example.com/x.

<!-- Please fill in: which_template -->

```python
foo_bar(x)
```

```yaml
index:
  auto_build: true
```

Since this change:

diff --git a/src/y.py b/src/y.py
--- a/src/y.py
+++ b/src/y.py
@@ -1,2 +1,3 @@
 foo
+bar

2024-01-02 10:11:12 INFO started
"""


def test_a_path_at_the_end_of_a_sentence_is_a_path() -> None:
    assert parse_query("Crash on start\n\nSee src/a.py. Or ./b.c, and c.go.").paths == (
        "src/a.py", "b.c", "c.go",
    )  # fmt: skip


def test_a_bug_report_has_parts() -> None:
    parts = parse_query(REPORT)
    assert parts.title == "Cookies are dropped: `requests.Session.send` and `max_retries`"
    assert [" ".join(paragraph.split()) for paragraph in parts.prose] == [
        "See , tests/test_x.py and app.py:33 with --no-cache or FLASK_ENV=1 ( , , , ), i.e. the"
        ' "too many redirects" message of .',
        "Since this change:",
    ]
    assert parts.code == ("foo_bar(x)", "index:\n  auto_build: true")
    assert [diff.splitlines()[-1] for diff in parts.diffs] == ["+bar"]
    assert parts.logs == ("2024-01-02 10:11:12 INFO started",)
    assert parts.frames == (Frame("src/requests/sessions.py", 120), Frame("app.py", 33))
    assert parts.paths == (
        "src/requests/sessions.py",
        "tests/test_x.py",
        "app.py",
        "src/y.py",
    )
    assert parts.names == ("requests.Session.send", "max_retries", "FLASK_ENV")
    assert parts.options == ("--no-cache", "FLASK_ENV", "index", "auto_build")


def test_the_whole_of_a_short_query_is_its_title() -> None:
    assert parse_query("where are retries scheduled").title == "where are retries scheduled"
    assert parse_query("TypeError: x is no function").title == "TypeError: x is no function"
    assert parse_query("").title == ""


def test_only_the_start_of_a_line_marks_a_heading() -> None:
    assert parse_query("## Carts are empty").title == "Carts are empty"
    assert parse_query("Use # in sh and **not** a subtitle: x").title == (
        "Use # in sh and **not** a subtitle: x"
    )


def test_quotes_of_several_words_are_found() -> None:
    assert parse_query('it prints "permission denied" and \'no such "x"\'').quotes == (
        "permission denied",
        'no such "x"',
    )


def _repeated(text: str) -> str:
    return (text * (QUERY_CHARACTERS // len(text) + 1))[:QUERY_CHARACTERS]


def _hostile() -> dict[str, str]:
    chance = random.Random(1)
    repeated = """
        at·((((( · 1 a. / ' @ A_ x.py:1:· x.py:1/ é.é· Error:·x/ 2024-01-01·10:10:10·ERROR·a:· [
        a.pl·line·1·at·
    """.split()
    texts = {text: _repeated(text.replace("·", " ").replace("/", "\n")) for text in repeated}
    texts |= {
        "frames": _repeated('File "x", line 1, in f\n'),
        "slashes": _repeated("/a.b:1 "),
        "names": " ".join(f"a{n}.b{n}" for n in range(90_000)),
        "paths": " ".join(f"a{n}/b{n}.py" for n in range(70_000)),
        "calls": "\n".join(f"at {'f' * (n % 9)} (x/y:{n})" for n in range(60_000)),
        "noise": "".join(chance.choices("at (:/.1'\"`\n\t@#-x_", k=QUERY_CHARACTERS)),
    }
    return texts


@pytest.mark.parametrize("text", _hostile().values(), ids=_hostile())
def test_a_megabyte_is_parsed_in_seconds(text: str) -> None:
    start = time.process_time()
    parse_query(text)
    # 0.1 to 0.5 seconds, twice as long on a busy machine; hours if it grew with the square.
    assert time.process_time() - start < 10
