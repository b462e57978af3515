"""Find the code that reports a message of any program, with values in place of its placeholders.

    python benchmarks/messages.py FOLDER … [--queries N] [--seed N] [--system NAME …] [--in-title]
                                 [--failures]

Each folder is a clone of a repository. The queries are texts of its own code, chosen at random: in
the code, they are on the line of a raised error or a log, outside of tests. Values replace the
placeholders, because a person pastes what was printed. A row is right if its lines contain the text
with the placeholders, in any file: the same text may be in several. `first` and `top 3` are the
shares of queries with such a row. With `--in-title`, a message is within the sentence of
a title. The systems are those of `errors.py`.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from errors import SYSTEMS, Query, rank_of

from winnow.symbols.search.weight import category_of

MOST_CHARACTERS = 300
LEAST_LETTERS = 15
_SOURCE = re.compile(r"\.(?:c|cc|cpp|cs|exs?|go|h|java|jsx?|kt|php|py|rb|rs|scala|swift|tsx?)$")
_ASIDE = re.compile(r"(?:^|/)(?:docs?|features)/", re.I)
_COMMENT = re.compile(r"\s*(?://|#|\*)")
# What reports a message, and its string.
_REPORTED = re.compile(
    r"(?:raise|throw|panic!|bail!|anyhow!|Errorf|errors\.New|log(?:ger|ging)?\.\w+|Log\w*\(|warn|error|"
    r"info|debug|abort|fail|require\(|check\(|Exception\(|Error\()[^\"'`]{0,60}"
    r"([\"'])((?:(?!\1)[^\\]|\\.){18,160})\1"
)
_PLACEHOLDER = re.compile(
    r"%[-+ #0]*\d*(?:\.\d+)?[sdvqrxfTwup]|%\(\w+\)[sdr]|[$#]\{[^}]*\}|\{[^{}\s]*\}|"
    r"\\\([^)]*\)|\$\w+"
)
# Titles of reports.
_TITLES = (
    "{} when the name contains a space",
    "Import fails with {} after an update",
    "[Bug]: the server crashes with {} on startup",
    "Login page shows the error message {}",
    "Since 2.4 saving a record returns {}",
)
_VALUES = ("/tmp/x/data.bin", "example.com", "17", "my-name", "foo42")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--queries", type=int, default=40, help="the number for each folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--system", action="append", choices=SYSTEMS)
    parser.add_argument("--in-title", action="store_true")
    parser.add_argument("--failures", action="store_true", help="print queries without a right row")
    options = parser.parse_args()
    print(f"{'':24}{'system':18}{'queries':>8}{'first':>8}{'top 3':>8}")
    for folder in options.folders:
        queries = chosen(messages_of(folder), options.queries, random.Random(options.seed))
        if options.in_title:
            queries = list(map(in_title, queries, itertools.cycle(_TITLES)))
        for system in options.system or ("winnow", "ripgrep"):
            answers = SYSTEMS[system](folder, queries)
            if answers is None:
                print(f"{folder.name:24}{system:18}   missing")
                continue
            ranks = [rank_of(query, rows) for query, rows in zip(queries, answers, strict=True)]
            first = sum(rank == 1 for rank in ranks) / len(ranks)
            best = sum(rank > 0 for rank in ranks) / len(ranks)
            print(f"{folder.name:24}{system:18}{len(ranks):8}{first:8.0%}{best:8.0%}")
            for query, rows, rank in zip(queries, answers, ranks, strict=True):
                if options.failures and rank != 1:
                    print(
                        f"  rank {rank}: {query.text}\n    in {query.lines}\n    found {rows[:1]}"
                    )


def messages_of(folder: Path) -> Mapping[str, Mapping[str, Sequence[int]]]:
    """Return the texts of messages as in the code, and the lines that have each, by file."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=folder, stdout=subprocess.PIPE, check=True
    )
    texts = {
        path: (folder / path).read_text("utf-8", "replace").split("\n")
        for path in listed.stdout.decode("utf-8", "replace").split("\0")
        if _SOURCE.search(path) and (folder / path).is_file()
    }
    found: dict[str, dict[str, list[int]]] = {}
    for path, lines in texts.items():
        if category_of(path) is None and not _ASIDE.search(path):
            for line in lines:
                if len(line) < MOST_CHARACTERS and not _COMMENT.match(line):
                    found |= {match[2]: {} for match in _REPORTED.finditer(line)}
    for path, lines in texts.items():
        for number, line in enumerate(lines, 1):
            for match in _REPORTED.finditer(line):
                if match[2] in found:
                    found[match[2]].setdefault(path, []).append(number)
    return found


def chosen(
    messages: Mapping[str, Mapping[str, Sequence[int]]], count: int, choice: random.Random
) -> list[Query]:
    """Return a number of messages with values for their placeholders."""
    texts = sorted(messages)
    choice.shuffle(texts)
    queries = (Query(printed(text), False, messages[text]) for text in texts)
    return list(itertools.islice(filter(is_telling, queries), count))


def printed(text: str) -> str:
    """Return a text with values for its placeholders."""
    values: Iterator[str] = itertools.cycle(_VALUES)
    plain = re.sub(r"\\[nt]", " ", text)
    return " ".join(_PLACEHOLDER.sub(lambda _: next(values), plain).replace("\\", "").split())


def in_title(query: Query, title: str) -> Query:
    """Return a query with the message in a title."""
    return query._replace(text=title.format(query.text.rstrip(" .:!")))


def is_telling(query: Query) -> bool:
    """Return True if a query has several words, and letters that are not those of values."""
    plain = query.text
    for value in _VALUES:
        plain = plain.replace(value, "")
    return " " in query.text and len(re.findall(r"[A-Za-z]", plain)) >= LEAST_LETTERS


if __name__ == "__main__":
    main()
