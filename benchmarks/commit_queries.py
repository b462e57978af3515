"""Make queries from commits, to train the ranker: what people wrote, and the files they changed.

    python benchmarks/commit_queries.py --repositories repos.json --clones CLONES --out OUT

CLONES has bare clones, `owner+name/repo`, of the repositories in repos.json (those of the
annotations) and in `ranker_repositories.txt`: applications, whose queries are not measured. Nothing
of them is run.

A query is the subject of a commit that changed one to four source files, or a report: the subject
and the rest of the message. `bare_clones.py` says which commits are usable. All queries of a
repository are about the tree before its last 150 usable commits. Writes OUT/corpora/NAME,
OUT/history.jsonl, and OUT/repos.json with the commit of each tree. The first 40 subjects of a
repository in repos.json are `measured`: they are the queries of the benchmark.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bare_clones import UsableCommit, clone_of, commits_of, git, usable, write_tree

APPLICATIONS = Path(__file__).with_name("ranker_repositories.txt")
USABLE_COMMITS, LEAST_COMMITS = 150, 15
MOST_FILES = 9_000
MEASURED, MOST_SUBJECTS, MOST_REPORTS = 40, 80, 60
# A shorter text below the subject describes nothing.
LEAST_REPORT, LEAST_REPORT_WORDS = 200, 30
TRAILER = re.compile(
    r"\s*(?:co-authored-by|signed-off-by|reviewed-by|acked-by|change-id|closes?:?|fix(?:es)?:?|refs?|resolves?|see"
    r"|reported-by|bug:|url:|related|pr-url|authored-by|tested-by|cc)\b",
    re.I,
)


def report_of(commit: UsableCommit) -> str:
    """Return the message of a commit without trailers; an empty text if it is hardly more than the
    subject, or if it names a changed file."""
    body = "\n".join(line for line in commit.body.splitlines() if not TRAILER.match(line)).strip()
    lowered = body.lower()
    is_report = (
        len(body) >= LEAST_REPORT
        and len(re.findall(r"[a-z]{3,}", lowered)) >= LEAST_REPORT_WORDS
        and not any(Path(path).name.lower() in lowered for path in commit.sources)
    )
    return f"{commit.subject}\n\n{body}" if is_report else ""


def queries_of(
    name: str, found: Sequence[UsableCommit], *, is_measured: bool
) -> Iterator[Mapping[str, Any]]:
    """Yield the queries of a repository, in the format of the annotations."""
    reports = 0
    for number, commit in enumerate(found):
        about = {"repo": name, "targets": [{"path": path} for path in commit.sources]}
        measured = is_measured and number < MEASURED
        if is_measured or number < MOST_SUBJECTS:
            yield about | {"query": commit.subject, "category": "commit", "measured": measured}
        if reports < MOST_REPORTS and (report := report_of(commit)):
            reports += 1
            yield about | {"query": report, "category": "report", "measured": False}


def found_in(clone: Path) -> tuple[str, list[UsableCommit]]:
    """Return the newest usable commits, and the commit that is the tree of their queries."""
    found: list[UsableCommit] = []
    tree = ""
    for commit in commits_of(clone):
        tree = commit.number
        if (good := usable(commit)) is not None:
            found.append(good)
        if len(found) >= USABLE_COMMITS:
            break
    return tree, found


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
        clone = clone_of(arguments.clones, entry["github"])
        tree, found = found_in(clone)
        if len(found) < LEAST_COMMITS:
            print(f"{entry['name']:22} left out: {len(found)} usable commits")
            continue
        listed = git(clone, "ls-tree", "-r", "--name-only", tree).decode("utf-8", "replace")
        paths = set(listed.splitlines())
        if len(paths) > MOST_FILES:
            print(f"{entry['name']:22} left out: {len(paths)} files")
            continue
        folder = arguments.out / "corpora" / entry["name"]
        if not folder.exists():
            write_tree(clone, tree, folder)
        kept = [one for one in found if paths.issuperset(one.sources)]
        queries += queries_of(entry["name"], kept, is_measured=entry in annotated)
        laid_out.append({**entry, "root": None, "tree": tree})
        print(f"{entry['name']:22} {len(kept)} commits at {tree[:12]}", flush=True)
    lines = (json.dumps(query, ensure_ascii=False) + "\n" for query in queries)
    (arguments.out / "history.jsonl").write_text("".join(lines))
    (arguments.out / "repos.json").write_text(json.dumps(laid_out))
    print(len(queries), "queries")


if __name__ == "__main__":
    main()
