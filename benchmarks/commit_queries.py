"""Make queries from commits, to train the ranker: what people wrote, and the files they changed.

    python benchmarks/commit_queries.py --repositories repos.json --clones CLONES --out OUT

CLONES has bare clones, `owner+name/repo`, of the repositories in repos.json (those of the
annotations) and in `ranker_repositories.txt`: applications, whose queries are not measured. Nothing
of them is run.

A query is the subject of a commit that changed one to four source files, or a report: the subject
and the rest of the message. Merges, releases, formatting and the like are left out, and so are
texts that name a changed file, for which no search is needed. All queries of a repository are about
the tree before its last 150 usable commits. Writes OUT/corpora/NAME, OUT/history.jsonl, and
OUT/repos.json with the commit of each tree. The first 40 subjects of a repository in repos.json are
`measured`: they are the queries of the benchmark.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

APPLICATIONS = Path(__file__).with_name("ranker_repositories.txt")
READ_COMMITS, USABLE_COMMITS, LEAST_COMMITS = 3_000, 150, 15
MOST_FILES = 9_000
MEASURED, MOST_SUBJECTS, MOST_REPORTS = 40, 80, 60
MOST_CHANGES, MOST_SOURCES = 12, 4
LEAST_WORDS = 4
# A shorter text below the subject describes nothing.
LEAST_REPORT, LEAST_REPORT_WORDS = 200, 30
SOURCE = re.compile(
    r"\.(?:py|js|ts|tsx|jsx|go|java|kt|scala|rb|php|rs|c|h|cc|cpp|hpp|cs|swift|ex|exs|lua|zig|hs|sh|bash)$"
)
ASIDE = re.compile(
    r"(?:^|/)(?:tests?|spec|specs|testing|__tests__|docs?|examples?|benchmarks?|bench|vendor|node_modules|dist)/"
    r"|_test\.|test_|\.test\.|\.spec\.|Test\.|Spec\.",
    re.I,
)
DULL = re.compile(
    r"^(?:merge|revert|release|bump|version|v?\d|chore|typo|fmt|format|lint|style|docs?|changelog"
    r"|update dep|upgrade|ci\b|build\b|prepare|wip)|typo|changelog|clippy|rubocop|whitespace"
    r"|copyright|reformat|prettier|gofmt|license",
    re.I,
)
# Numbers of issues, scopes and kinds, such as `fix(parser): `.
ASIDE_IN_SUBJECT = re.compile(r"\(?#\d+\)?|\[[^\]]*\]|^\w+(?:\([^)]*\))?!?:\s*|gh-\d+:?")
TRAILER = re.compile(
    r"\s*(?:co-authored-by|signed-off-by|reviewed-by|acked-by|change-id|closes?:?|fix(?:es)?:?|refs?|resolves?|see"
    r"|reported-by|bug:|url:|related|pr-url|authored-by|tested-by|cc)\b",
    re.I,
)


class Commit(NamedTuple):
    """A commit: ``changes`` are pairs of a status and a path."""

    sha: str
    subject: str
    body: str
    changes: Sequence[Sequence[str]]


class Usable(NamedTuple):
    """The queries of a commit, and the source files that it changed; ``report`` may be empty."""

    subject: str
    report: str
    sources: Sequence[str]


def git(clone: Path, *arguments: str) -> bytes:
    command = ["git", "--git-dir", str(clone), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def commits_of(clone: Path) -> Iterator[Commit]:
    """Yield the newest commits of a clone, without merges."""
    which = ["--no-merges", "--first-parent", "--name-status", "--no-renames"]
    form = "--format=%x01%H%x02%s%x02%b%x03"
    log = git(clone, "log", *which, "-n", str(READ_COMMITS), form).decode("utf-8", "replace")
    for block in log.split("\x01")[1:]:
        message, _, names = block.partition("\x03")
        sha, subject, body = message.split("\x02", 2)
        changes = [line.split("\t", 1) for line in names.splitlines() if "\t" in line]
        yield Commit(sha, subject, body, changes)


def usable(commit: Commit) -> Usable | None:
    """Return the queries of a commit; None if it doesn't change a few source files, or if its
    subject says too little or names one of them."""
    changed = {path: status for status, path in commit.changes}
    sources = [path for path in changed if SOURCE.search(path) and not ASIDE.search(path)]
    if len(changed) > MOST_CHANGES or not 1 <= len(sources) <= MOST_SOURCES:
        return None
    subject = " ".join(ASIDE_IN_SUBJECT.sub(" ", commit.subject).split()).strip(" .:-")
    stems = [_letters(Path(path).name.rsplit(".", 1)[0]) for path in sources]
    if (
        any(changed[path] != "M" for path in sources)
        or len(subject.split()) < LEAST_WORDS
        or DULL.search(subject)
        or DULL.search(commit.subject)
        or any(len(stem) > 3 and stem in _letters(subject) for stem in stems)
    ):
        return None
    body = "\n".join(line for line in commit.body.splitlines() if not TRAILER.match(line)).strip()
    lowered = body.lower()
    is_report = (
        len(body) >= LEAST_REPORT
        and len(re.findall(r"[a-z]{3,}", lowered)) >= LEAST_REPORT_WORDS
        and not any(Path(path).name.lower() in lowered for path in sources)
    )
    return Usable(subject, f"{subject}\n\n{body}" if is_report else "", sources)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def queries_of(
    name: str, found: Sequence[Usable], *, is_measured: bool
) -> Iterator[Mapping[str, Any]]:
    """Yield the queries of a repository, in the format of the annotations."""
    reports = 0
    for number, commit in enumerate(found):
        about = {"repo": name, "targets": [{"path": path} for path in commit.sources]}
        measured = is_measured and number < MEASURED
        if is_measured or number < MOST_SUBJECTS:
            yield about | {"query": commit.subject, "category": "commit", "measured": measured}
        if commit.report and reports < MOST_REPORTS:
            reports += 1
            yield about | {"query": commit.report, "category": "report", "measured": False}


def lay_out(clone: Path, commit: str, folder: Path) -> None:
    """Write the tree of a commit without the files that the clone doesn't have."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    entries = [entry.split(b"\t", 1) for entry in git(clone, "ls-tree", "-rz", commit).split(b"\0")]
    blobs = [(about[0].split()[2], about[1]) for about in entries if b" blob " in about[0]]
    command = ["git", "--git-dir", str(clone), "cat-file", "--batch-check"]
    names = b"".join(blob + b"\n" for blob, _ in blobs)
    told = subprocess.run(command, input=names, stdout=subprocess.PIPE, check=True).stdout
    missing = [
        f":(exclude,literal){path.decode('utf-8', 'replace')}"
        for (_, path), answer in zip(blobs, told.splitlines(), strict=True)
        if answer.endswith(b"missing")
    ]
    archive = git(clone, "archive", commit, "--", ".", *missing)
    subprocess.run(["tar", "x", "-C", str(folder)], input=archive, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    annotated = json.loads(arguments.repositories.read_text())
    applications = [
        {"name": f"app-{github.rpartition('/')[2]}", "github": github, "language": "mixed"}
        for github in APPLICATIONS.read_text().split()
    ]
    queries: list[Mapping[str, Any]] = []
    laid_out = []
    for entry in (*annotated, *applications):
        clone = arguments.clones / entry["github"].replace("/", "+") / "repo"
        found: list[Usable] = []
        commit = None
        for commit in commits_of(clone):
            if (good := usable(commit)) is not None:
                found.append(good)
            if len(found) >= USABLE_COMMITS:
                break
        if commit is None or len(found) < LEAST_COMMITS:
            print(f"{entry['name']:22} left out: {len(found)} usable commits")
            continue
        listed = git(clone, "ls-tree", "-r", "--name-only", commit.sha).decode("utf-8", "replace")
        tree = set(listed.splitlines())
        if len(tree) > MOST_FILES:
            print(f"{entry['name']:22} left out: {len(tree)} files")
            continue
        lay_out(clone, commit.sha, arguments.out / "corpora" / entry["name"])
        kept = [one for one in found if tree.issuperset(one.sources)]
        queries += queries_of(entry["name"], kept, is_measured=entry in annotated)
        laid_out.append({**entry, "root": None, "tree": commit.sha})
        print(f"{entry['name']:22} {len(kept)} commits at {commit.sha[:12]}", flush=True)
    lines = (json.dumps(query, ensure_ascii=False) + "\n" for query in queries)
    (arguments.out / "history.jsonl").write_text("".join(lines))
    (arguments.out / "repos.json").write_text(json.dumps(laid_out))
    print(len(queries), "queries")


if __name__ == "__main__":
    main()
