"""Train the vectors of terms, from public commits and comments.

    python benchmarks/train_embeddings.py collect CLONES PAIRS.npz
    python benchmarks/train_embeddings.py train PAIRS.npz [--save]

CLONES has bare clones of the repositories that `embedding_repositories.txt` lists, each as
`owner+name/repo`. Those that Winnow is measured on are not among them. `train` needs PyTorch, and a
GPU or some patience.

A pair is a text of people and code: the message of a commit and a part of a file that it changed,
as it was before, or a comment and the lines below it. Vectors are trained by contrast (van den Oord
et al., "Representation Learning with Contrastive Predictive Coding", 2018): a text must be nearer
to its own code than to the code of other pairs, which are mostly of the same repository, as they
are for a search. Terms that are not in at least three repositories get no vector of their own:
vectors that are random but fixed stand for them, and only their length is trained.

Prints the mean reciprocal rank of the right file (commits) and of the right lines (comments) in
repositories that are not trained on.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.index.postings.terms import term_number, terms_of, words
from winnow.index.vectors import embeddings

LIST = Path(__file__).parent / "embedding_repositories.txt"
MODEL = Path(embeddings.__file__).parent / "model"
DIMENSIONS = 128
# Of each repository.
MOST_PAIRS = 1_400
MOST_COMMITS = 9_000
MOST_FILES = 1_500
# Terms of a text, the most frequent ones.
MOST_TERMS = 80
# Terms with vectors of their own: the best known of those in this many repositories and texts.
MOST_KNOWN, LEAST_REPOSITORIES, LEAST_TEXTS = 24_000, 3, 12
# Random vectors for the others, shared by some.
BUCKETS = 16_384
HELD_OUT = 8

STEPS, BATCH, REPOSITORIES = 4_000, 1_024, 4
RATE, DROPPED, TEMPERATURE = 2e-3, 0.4, 0.07
COMMENT_SHARE = 0.4

SUFFIXES = (
    "py js ts tsx jsx go java kt scala rb php rs c h cc cpp hpp cs swift ex exs lua zig hs sh"
).split()
_SOURCE = re.compile(rf"\.({'|'.join(SUFFIXES)})$")
_ASIDE = re.compile(
    r"(^|/)(tests?|specs?|testing|__tests__|docs?|examples?|bench(marks)?|vendor|node_modules"
    r"|dist)/|_test\.|test_|\.test\.|\.spec\.|Test\.|Spec\.",
    re.I,
)
# Subjects that say nothing about code.
_DULL = re.compile(
    r"^(merge|revert|release|bump|version|v?\d|chore|typo|fmt|format|lint|style|docs?|changelog"
    r"|update dep|upgrade|ci\b|build\b|prepare|wip)|typo|changelog|clippy|rubocop|whitespace"
    r"|copyright|reformat|prettier|gofmt|license",
    re.I,
)
_NOTES = re.compile(
    r"(?m)^(Signed-off-by|Co-authored-by|Reviewed-by|Change-Id|git-svn-id|Fixes|Closes).*$|https?://\S+"
)
_MARKS = re.compile(r"\(?#\d+\)?|\[[^\]]*\]|^\w+(\([^)]*\))?!?:\s*")
_COMMENT = re.compile(r"^\s*(///?!?|#|\*|/\*\*?|--+\|?|;;)\s?")
_COMMENT_ENDS = ("*/", "/*", "/**")
_DEFINITION = re.compile(r"\s*(async )?(def|class) ")
_DOCSTRING = re.compile(r"\s*[rub]*(\"\"\"|''')")
_TAGS = re.compile(r"<[^>]+>|[`*{}]|@\w+")


class Pair(NamedTuple):
    """A text of people and code of the file ``path``; ``kind`` is `commit` or `comment`."""

    kind: str
    text: str
    path: str
    code: str


# --- pairs -----------------------------------------------------------------------------------


def git(clone: Path, *arguments: str) -> Iterator[str]:
    """Yield the lines that git prints, cut if they are very long."""
    command = ["git", "--git-dir", str(clone), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        for line in child.stdout:
            yield line[:400].decode("utf-8", "replace").rstrip("\n")


def commit_pairs(clone: Path) -> Iterator[Pair]:
    """Yield messages with the largest change of one of the files that the commit changed."""
    what = ["--no-merges", f"-n{MOST_COMMITS}", "-p", "-U12", "--no-renames", "--no-ext-diff"]
    form = "--format=%x01%s%x02%b%x03"
    files = [f"*.{suffix}" for suffix in SUFFIXES]
    lines: list[str] = []
    for line in git(clone, "log", *what, form, "--", *files):
        if line.startswith("\x01"):
            yield from _of_commit("\n".join(lines))
            lines = []
        lines.append(line)
    yield from _of_commit("\n".join(lines))


def _of_commit(log: str) -> Iterator[Pair]:
    message, _, diff = log.partition("\x03")
    subject, _, body = message.lstrip("\x01").partition("\x02")
    query = re.sub(r"\s+", " ", _MARKS.sub(" ", subject)).strip(" .:-")
    changed = [*_changed(diff)]
    if len(query.split()) < 3 or _DULL.search(subject) or _DULL.search(query):
        return
    if 1 <= len(changed) <= 5:
        path, code = random.choice(changed)
        if random.random() < 0.3:
            query += " " + " ".join(_NOTES.sub(" ", body).split()[:80])
        yield Pair("commit", query, path, code)


def _changed(diff: str) -> Iterator[tuple[str, str]]:
    """Yield the changed source files, with the lines of the largest change as they were before."""
    for part in re.split(r"^diff --git ", diff, flags=re.M)[1:]:
        path = re.match(r"a/(\S+) b/", part)
        if path is None or not _SOURCE.search(path[1]) or _ASIDE.search(path[1]):
            continue
        hunks = re.split(r"^@@.*?@@", part, flags=re.M)[1:]
        if not hunks or "\nnew file mode" in part or "\ndeleted file mode" in part:
            continue
        largest = max(hunks, key=lambda hunk: len(re.findall(r"^[+-]", hunk, re.M)))
        before = [line[1:] for line in largest.split("\n")[1:] if line[:1] in ("", " ", "-")][:60]
        if len(before) >= 6:
            yield path[1], "\n".join(before)


def comment_pairs(clone: Path) -> Iterator[Pair]:
    """Yield comments with the lines below them, and docstrings with their functions."""
    paths = [*git(clone, "ls-tree", "-r", "--name-only", "HEAD")]
    paths = [path for path in paths if _SOURCE.search(path) and not _ASIDE.search(path)]
    random.shuffle(paths)
    for path in paths[:MOST_FILES]:
        lines = [*git(clone, "cat-file", "-p", f"HEAD:{path}")]
        if len(lines) < 5_000:
            found = [*(_docstrings if path.endswith(".py") else _comments)(lines)]
            random.shuffle(found)
            yield from (Pair("comment", text, path, code) for text, code in found[:6])


def _docstrings(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for start, line in enumerate(lines):
        if not _DEFINITION.match(line):
            continue
        head = next((n for n in range(start, len(lines)) if lines[n].rstrip().endswith(":")), start)
        quote = _DOCSTRING.match(lines[head + 1]) if head + 1 < len(lines) else None
        if quote is None or head - start > 12:
            continue
        text = "\n".join(lines[head + 1 :])
        doc, _, rest = text[quote.end() :].partition(quote[1])
        code = [*lines[start : head + 1], *rest.split("\n")[:30]]
        if 4 <= len((doc := doc.strip().split("\n\n")[0]).split()) <= 60:
            yield doc, "\n".join(code)


def _comments(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and (
            _COMMENT.match(lines[end]) or lines[end].strip() in _COMMENT_ENDS
        ):
            end += 1
        comment = "\n".join(
            _COMMENT.sub("", line).replace("*/", "").strip() for line in lines[at:end]
        )
        doc = _TAGS.sub(" ", re.split(r"\n\s*\n|\n\s*@|\n\s*\\param", comment.strip())[0])
        code = lines[end : end + 30]
        is_told = 5 <= len(doc.split()) <= 60 and not re.search(r"copyright|licen[sc]e", doc, re.I)
        if is_told and sum(map(bool, map(str.strip, code))) >= 4:
            yield doc, "\n".join(code)
        at = max(end, at + 1)


# --- collecting ------------------------------------------------------------------------------


class Text(NamedTuple):
    """The terms of a text with their frequencies."""

    counts: Sequence[tuple[str, int]]

    @classmethod
    def of(cls, text: str) -> Text:
        counts = Counter(term for word in words(text) for term in terms_of(word))
        return cls(counts.most_common(MOST_TERMS))


class Row(NamedTuple):
    """A pair of a repository, as terms."""

    repository: str
    kind: str
    path: str
    text: Text
    code: Text


def rows_of(clone: Path) -> list[Row]:
    """Return some pairs of a repository."""
    random.seed(clone.name)
    rows = []
    for kind in (commit_pairs, comment_pairs):
        pairs = [*kind(clone / "repo")]
        random.shuffle(pairs)
        rows += [
            Row(clone.name, pair.kind, pair.path, Text.of(pair.text), Text.of(pair.code))
            for pair in pairs[:MOST_PAIRS]
        ]
    print(f"{clone.name}: {len(rows)} pairs", flush=True)
    return rows


def collect(clones: Path, target: Path) -> None:
    """Write the pairs of all clones as arrays."""
    listed = sorted(LIST.read_text().split())
    folders = [clones / repository.replace("/", "+", 1) for repository in listed]
    with ProcessPoolExecutor() as pool:
        rows = [row for found in pool.map(rows_of, folders) for row in found]
    known = _known_terms(rows)
    places = {term: place for place, term in enumerate(known)}
    names = [folder.name for folder in folders]
    arrays: dict[str, npt.NDArray[Any]] = {
        "names": np.array(names),
        "terms": np.array(known),
        "repository": np.array([names.index(row.repository) for row in rows], np.uint16),
        "is_commit": np.array([row.kind == "commit" for row in rows]),
        "path": np.array([zlib.crc32(row.path.encode()) for row in rows], np.uint32),
        **_packed("text", [row.text for row in rows], places),
        **_packed("code", [row.code for row in rows], places),
    }
    savez: Callable[..., None] = np.savez_compressed
    savez(target, **arrays)


def _known_terms(rows: Iterable[Row]) -> list[str]:
    texts: Counter[str] = Counter()
    repositories: dict[str, set[str]] = {}
    for row in rows:
        for term in {term for text in (row.text, row.code) for term, _ in text.counts}:
            texts[term] += 1
            repositories.setdefault(term, set()).add(row.repository)
    kept = [
        term
        for term, count in texts.items()
        if count >= LEAST_TEXTS
        and len(repositories[term]) >= LEAST_REPOSITORIES
        and term.isascii()
        and not re.fullmatch(r"\d+|[0-9a-f]{6,}", term)
    ]
    kept.sort(key=lambda term: (-len(repositories[term]) * math.log1p(texts[term]), term))
    return sorted(kept[:MOST_KNOWN])


def _packed(
    name: str, texts: Sequence[Text], places: dict[str, int]
) -> dict[str, npt.NDArray[Any]]:
    """Return the terms of texts, one after the other, their frequencies, and their number."""
    return {
        f"{name}_terms": np.array(
            [
                places.get(term, len(places) + zlib.crc32(term.encode()) % BUCKETS)
                for text in texts
                for term, _ in text.counts
            ],
            np.uint16,
        ),
        f"{name}_counts": np.array(
            [min(count, 255) for text in texts for _, count in text.counts], np.uint8
        ),
        f"{name}_sizes": np.array([len(text.counts) for text in texts], np.uint8),
    }


# --- training --------------------------------------------------------------------------------


class Trainer:
    """Trains the vectors of a file of pairs."""

    def __init__(self, file: Path) -> None:
        import torch

        torch.manual_seed(0)
        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.chance = np.random.default_rng(0)
        pairs = np.load(file)
        self.terms = pairs["terms"].tolist()
        self.path = pairs["path"].astype(np.int64)
        self.texts, self.codes = (self._loaded(pairs, name) for name in ("text", "code"))
        repository, is_commit = pairs["repository"], pairs["is_commit"]
        held_out = self.chance.permutation(len(pairs["names"]))[:HELD_OUT]
        self.groups: dict[bool, dict[bool, list[npt.NDArray[np.int64]]]] = {}
        for kind in (False, True):
            for used in (False, True):
                chosen = [n for n in range(len(pairs["names"])) if (n not in held_out) == used]
                rows = (np.flatnonzero((repository == n) & (is_commit == kind)) for n in chosen)
                self.groups.setdefault(used, {})[kind] = [row for row in rows if len(row) >= 64]

    def _loaded(self, pairs: Any, name: str) -> tuple[Any, Any, Any]:
        torch = self.torch
        ends = np.append(0, np.cumsum(pairs[f"{name}_sizes"].astype(np.int64)))
        weights = 1 + np.log(pairs[f"{name}_counts"].astype(np.float32))
        arrays = (pairs[f"{name}_terms"].astype(np.int64), weights, ends)
        terms, weights, ends = (torch.tensor(array, device=self.device) for array in arrays)
        return terms, weights, ends

    def embed(self, table: Any, texts: tuple[Any, Any, Any], rows: Any, dropped: float = 0) -> Any:
        """Return the unit vectors of some texts; a share of their terms is left out."""
        torch, (terms, weights, ends) = self.torch, texts
        rows = torch.as_tensor(rows, device=self.device)
        sizes = ends[rows + 1] - ends[rows]
        starts = torch.cumsum(sizes, 0) - sizes
        at = torch.arange(int(sizes.sum()), device=self.device)
        at = at + torch.repeat_interleave(ends[rows] - starts, sizes)
        chosen = weights[at] * (torch.rand(len(at), device=self.device) >= dropped)
        functional = torch.nn.functional
        found = functional.embedding_bag(
            terms[at], table, starts, mode="sum", per_sample_weights=chosen
        )
        return functional.normalize(found, dim=1)

    def train(self) -> tuple[Any, float]:
        """Return the vectors of the terms, and the length of those of other terms."""
        torch = self.torch
        size = len(self.terms)
        table = 0.05 * torch.randn(size, DIMENSIONS, device=self.device)
        random_rows = torch.randn(BUCKETS, DIMENSIONS, device=self.device)
        random_rows /= random_rows.norm(dim=1, keepdim=True)
        length = torch.tensor(0.5, device=self.device)
        sharpness = torch.tensor(math.log(1 / TEMPERATURE), device=self.device)
        weights = [table.requires_grad_(), length.requires_grad_(), sharpness.requires_grad_()]
        optimizer = torch.optim.Adam(weights, lr=RATE, betas=(0.9, 0.99))
        for step in range(STEPS):
            rate = min(1, step / 200) * 0.5 * (1 + math.cos(math.pi * step / STEPS))
            for group in optimizer.param_groups:
                group["lr"] = RATE * rate
            full = torch.cat([table, random_rows * length])
            loss = self._loss(full, sharpness)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 500 == 0 or step == STEPS - 1:
                self.report(torch.cat([table, random_rows * length]).detach(), step)
        return table.detach().cpu().numpy(), abs(float(length.detach()))

    def _loss(self, table: Any, sharpness: Any) -> Any:
        torch = self.torch
        is_commit = bool(self.chance.random() >= COMMENT_SHARE)
        groups = self.groups[True][is_commit]
        share = np.array([len(group) for group in groups]) ** 0.7
        chosen = self.chance.choice(len(groups), REPOSITORIES, replace=False, p=share / share.sum())
        rows = np.concatenate(
            [
                self.chance.permutation(groups[number])[: BATCH // REPOSITORIES]
                for number in chosen.tolist()
            ]
        )
        texts = self.embed(table, self.texts, rows, DROPPED)
        codes = self.embed(table, self.codes, rows, DROPPED)
        scores = texts @ codes.T * sharpness.exp().clamp(max=60)
        if is_commit:  # another change of the same file is no wrong answer
            path = torch.tensor(self.path[rows], device=self.device)
            same = path[:, None] == path[None, :]
            scores = scores.masked_fill(same.fill_diagonal_(False), -30)
        own = torch.arange(len(rows), device=self.device)
        entropy = torch.nn.functional.cross_entropy
        return entropy(scores, own) + 0.5 * entropy(scores.T, own)

    def report(self, table: Any, step: int) -> None:
        """Print the mean reciprocal ranks in the repositories that are held out."""
        torch = self.torch
        means = {}
        for kind, groups in self.groups[False].items():
            ranks = []
            for rows in groups:
                scores = self.embed(table, self.texts, rows) @ self.embed(table, self.codes, rows).T
                path = torch.tensor(self.path[rows], device=self.device)
                same = path[:, None] == path[None, :]
                own = scores.masked_fill(~same, -9).amax(1) if kind else scores.diagonal()
                others = scores.masked_fill(same, -9)
                ranks.append(float((1 / (1 + (others > own[:, None]).sum(1))).mean()))
            means["commits" if kind else "comments"] = round(float(np.mean(ranks)), 4)
        print(f"step {step}: {means}", flush=True)


def save(terms: Sequence[str], table: npt.NDArray[np.float32], length: float) -> None:
    """Store the vectors in the package, as 8-bit numbers."""
    numbers = np.array([term_number(term) for term in terms], np.uint64)
    order = np.argsort(numbers)
    scale = 127 / float(np.quantile(np.abs(table), 0.9995))
    rows = np.clip(np.rint(table[order] * scale), -127, 127).astype(np.int8)
    MODEL.mkdir(exist_ok=True)
    for name, array in (
        ("terms", numbers[order]), ("vectors", rows), ("others", np.float32(length * scale)),
    ):  # fmt: skip
        np.save(MODEL / f"{name}.npy", array)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    collecting = commands.add_parser("collect")
    collecting.add_argument("clones", type=Path)
    collecting.add_argument("pairs", type=Path)
    training = commands.add_parser("train")
    training.add_argument("pairs", type=Path)
    training.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    began = time.monotonic()
    if arguments.command == "collect":
        collect(arguments.clones, arguments.pairs)
    else:
        trainer = Trainer(arguments.pairs)
        table, length = trainer.train()
        if arguments.save:
            save(trainer.terms, table, length)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
