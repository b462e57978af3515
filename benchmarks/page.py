"""Run all benchmarks and write their tables to docs/benchmarks.md.

`benchmarks/run` installs the peers and calls this. A part of the page is one or more commands that
print tables. The page has their output with the command, the date, the machine and the duration,
and also reports failed and skipped parts. Parts that don't run now stay unchanged.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/benchmarks.md"
HEAD = """\
# Benchmarks

One command prints all tables. It downloads the trees, installs the peers outside the checkout, and
writes this page:

```sh
benchmarks/run                 # all parts except those that take long
benchmarks/run start tokens    # these parts; --list lists them with their requirements
```

Each table is the unchanged output of its command. Limits in the tables are our own targets. Winnow
runs from this checkout, with the ripgrep that it installs.
"""


class Part(NamedTuple):
    """A section of the page, with an introduction to its tables.

    Commands are scripts of this folder with their arguments. `{name}` in them is an option of
    :func:`main`; a part without a required option is skipped. A ``long`` part runs only if it is
    named.
    """

    title: str
    commands: Sequence[str]
    shows: str
    long: bool = False


PARTS = {
    "start": Part(
        "Start",
        ["start.py --runs 7", "mcp_start.py --runs 7"],
        "The time to start the language server, compared with an empty pygls server; to run a"
        " command, compared with an empty Python program; and of the MCP server until the first"
        " answer. The MCP server mostly imports the MCP package, and a command mostly starts Python"
        " and ripgrep. A compiled program would save both.",
    ),
    "first-question": Part(
        "The first question of a session",
        ["first_question.py --runs 5"],
        "New processes with the index of Django on disk, queried as soon as possible. An answer is"
        " correct if it equals that of a server whose index has long been open and contains the"
        " right file. The limit for the first row in an editor is 300 ms.",
    ),
    "background": Part(
        "Commands and the background process",
        ["background.py"],
        "The first question in Django's source, from nothing, and commands with and without the"
        " background process.",
    ),
    "keyword": Part(
        "Keyword search",
        ["keyword_search.py --runs 3", "django.py --runs 5"],
        "The first stage on the source of the Linux kernel, compared with the original design (one"
        " ripgrep per term, and again for each dropped term). Then the complete command on Django,"
        " with the rank of the right file. No model is used.",
    ),
    "text": Part(
        "Text, without an index",
        ["grep.py --runs 3"],
        "`grep` over LSP compared with ripgrep itself, on the kernel's source. A page of a common"
        " word comes early. Counting all matches costs what ripgrep costs, and up to a third more"
        " for the sandbox in which it runs. Finding nothing costs a second search, of the files"
        " that ignore files hide, so that the answer can report them.",
    ),
    "text-index": Part(
        "Text, with the index",
        ["text_index.py --tree django --queries 30 --edits 100 --fresh --max-ratio 100"],
        "Random queries on Django, before and after random edits, each checked against ripgrep;"
        " compared with ripgrep, and with ripgrepx, which has its own index. Winnow's index also"
        " serves symbols and semantic search, so it takes longer to build, and an answer includes"
        " LSP, JSON and counts of skipped files. On a small tree ripgrep needs no more than that;"
        " `text-index-kernel` shows where an index pays off.",
    ),
    "text-index-kernel": Part(
        "Text, with the index, on the kernel's source",
        ["text_index.py --edits 100 --fresh"],
        "The same on 78,000 files, with the time, size and memory of the index. The random queries"
        " matter: most time goes into reading the files that may match and, for queries without a"
        " match, into checking that no folder has changed, so that hidden files need not be listed"
        " again.",
        long=True,
    ),
    "symbols": Part(
        "Symbols and references",
        ["symbol_search.py indexing saved references"],
        "The index, one saved file, and references in Django, compared with universal-ctags (only"
        " definitions, and several times faster at that) and pyright (which knows types and keeps"
        " no index: its first answers take seconds).",
    ),
    "symbol-names": Part(
        "Names",
        ["symbol_search.py search"],
        "`workspace/symbol` over a hundred thousand and a million names of the kernel's source.",
        long=True,
    ),
    "symbol-quality": Part(
        "Quality of symbols and references",
        ["symbol_search.py quality --truth {symbol_truth} --corpora {symbol_corpora}"],
        "Compared with the answers of pyright, tsserver and clangd on the development split."
        " universal-ctags' definitions and pyright's symbol search are compared with the same."
        " Results that those servers don't return count as wrong, so precision is a lower bound.",
    ),
    "retrieval": Part(
        "Semantic search",
        [
            "retrieval.py winnow semble probe ripgrep"
            " --annotations {retrieval_annotations} --repositories {retrieval_repositories}"
            " --corpora {retrieval_corpora}"
        ],
        "The development half of semble's public annotations: 25 repositories, 18 languages. The"
        " shipped ranker was trained on these questions, so its quality here is not a valid"
        " measure. Judged by rankers that were trained without the repository in question, it is"
        " .881, and .889 where the commits of the repository are known (`benchmarks/run ranker`)."
        " semble is faster because it doesn't check its answers "
        "against the current files.",
    ),
    "search-box": Part(
        "The search box",
        ["search_box.py"],
        "40 queries in Django's source, as people type them into one box: names, paths, pieces of"
        " code, error messages and questions, eight of each. The box chooses the search; each"
        " other row is one kind of search for all queries. The numbers are first results that are"
        " right.",
    ),
    "newcomer": Part(
        "Questions of newcomers",
        [
            "newcomer.py --corpora {newcomer_corpora}",
            "newcomer.py --corpora {newcomer_corpora} --checkout {newcomer_checkout}"
            " --command code-search",
        ],
        "26 tasks in six code bases, typed at the command line with no index on disk: now, and with"
        " commit 4d7211d, when a question needed a command. The first result is right if it has the"
        " line that was written down before; `name` also accepts a part of the same function, and"
        " `file` any lines of the file. `keys` are the characters to type, with quotes and Enter,"
        " and `lines` those on standard output. The time is the whole command's, without a"
        " background process, on a busy machine.",
        long=True,
    ),
    "tokens": Part(
        "Tokens until the right file",
        [
            "token_cost.py --annotations {retrieval_annotations}"
            " --repositories {retrieval_repositories} --corpora {retrieval_corpora}"
        ],
        "The tokens an agent reads for 30 questions until it has a right file, compared with a loop"
        " of grep and read, semble and probe. `keyword_search` returns files with reasons and no"
        " code, which makes it cheap. The others return code, by default ten passages or more, so"
        " their complete answers cost more than semble's five. As in the table above, the index's"
        " ranker was trained on these questions, which favors all rows of Winnow except the one"
        " without an index.",
    ),
    "issue-tokens": Part(
        "Tokens until all files of an issue",
        ["issue_tokens.py --issues {issues} --mirrors {issue_mirrors} --sample 12"],
        "What an agent reads until it has the files that the fix of an issue changed: it searches"
        " with the issue's text, reads the places in order, and stops when it has all files."
        " `tools` is the list of tools, `answer` the first answer. A file that isn't found counts"
        " as 32,000 tokens. Twelve issues, evenly over the list.",
        long=True,
    ),
    "ranker": Part(
        "Semantic search, with rankers that were not trained on the questions",
        [
            "train_ranker.py --annotations {retrieval_annotations}"
            " --repositories {retrieval_repositories} --corpora {retrieval_corpora}"
            " --commits {ranker_commits} --clones {ranker_clones}"
        ],
        "NDCG@10 by file, cross-validated by repository: annotations, and messages of commits as"
        " queries for the files that they changed. Needs `winnow-ls[benchmark]`.",
        long=True,
    ),
    "index-build": Part(
        "The build of an index",
        ["index_build.py django redis --runs 3"],
        "From nothing. Winnow's index serves text, semantic and symbol searches and references;"
        " each peer's index serves a part of these. The size is that right after the build; the"
        " segments that were merged are deleted a minute later, see [the index](the-index.md).",
    ),
    "index-build-kernel": Part(
        "The build of an index, on the kernel's source",
        ["index_build.py kernel --runs 1"],
        "The same on 78,000 files.",
        long=True,
    ),
    "team": Part(
        "An index that is shared",
        ["team_index.py django"],
        "One user builds and exports the index; another one pulls it in a copy of the tree.",
    ),
    "team-kernel": Part(
        "An index that is shared, of the kernel's source",
        ["team_index.py kernel"],
        "The same with 78,000 files.",
        long=True,
    ),
    "cluster-quality": Part(
        "Ranking in a search cluster",
        [
            "cluster_quality.py --annotations {retrieval_annotations}"
            " --repositories {retrieval_repositories} --corpora {retrieval_corpora}"
        ],
        "The questions of the benchmark of semantic search, asked of a cluster and of a local"
        " index, both without vectors. Needs OpenSearch.",
        long=True,
    ),
    "memory": Part(
        "Memory",
        ["memory.py"],
        "The peak memory of the server and its workers together while they index Django.",
    ),
    "documents": Part(
        "Documents",
        ["document_search.py --runs 5 --no-rga"],
        "1,000 generated PDFs and DOCX, searched for the first time and again, compared with"
        " ripgrep on their texts. The difference is the server, JSON and locations.",
    ),
    "documents-rga": Part(
        "Documents, compared with ripgrep-all",
        ["document_search.py"],
        "The same, compared with ripgrep-all with all documents in its cache.",
        long=True,
    ),
    "document-formats": Part(
        "Matches in documents",
        ["document_formats.py"],
        "Words with known locations, in documents that other programs made.",
        long=True,
    ),
    "secrets": Part(
        "Secrets",
        ["secrets_filter.py"],
        "Redacted generated secrets, and look-alikes that were redacted by mistake, compared with"
        " betterleaks. It has many more rules for fixed formats than these samples cover.",
    ),
    "watcher": Part(
        "The watcher",
        ["watcher.py --idle 5"],
        "The time until a change on disk is reported, compared with watchfiles, on the kernel's"
        " source. Starting mostly consists of registering each folder with the system.",
    ),
    "hazards": Part(
        "Hostile input and failures",
        ["hazards.py"],
        "Each row is a test against a running server.",
        long=True,
    ),
}

# The command that prints a peer's version.
PEERS = {
    "ripgrep": ["rg", "--version"],
    "semble": ["semble", "--version"],
    "universal-ctags": ["ctags", "--version"],
    "pyright": ["pyright", "--version"],
    "probe": ["probe", "--version"],
    "ripgrepx": ["rgx", "--version"],
    "ripgrep-all": ["rga", "--version"],
}
# The start of the text below a section's introduction, with and without a table.
COMMAND, SKIPPED = "`python benchmarks/", "Skipped"
_NUMBER = re.compile(r"\d+(?:\.\d+)+[\w.-]*")


class Outcome(NamedTuple):
    """The output of a command, its duration in seconds, and its problem, if any."""

    printed: str
    seconds: float
    problem: str


def run(command: str, values: Mapping[str, str]) -> Outcome:
    """Run a command of a part and print its output as it arrives."""
    arguments = [word.format_map(values) for word in command.split()]
    started = time.perf_counter()
    printed = []
    with tempfile.TemporaryDirectory() as state, tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(
            [sys.executable, str(ROOT / "benchmarks" / arguments[0]), *arguments[1:]],
            cwd=ROOT,
            # A new index would reuse other indexes of this user.
            env={**os.environ, "XDG_STATE_HOME": state},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                printed.append(line)
        errors.seek(0)
        error = errors.read().strip()
    problem = ""
    if process.returncode:
        print(error, file=sys.stderr)
        problem = f"exit code {process.returncode}"
        if error:
            problem += f": {error.rpartition(chr(10))[2]}"
    return Outcome("".join(printed).strip("\n"), time.perf_counter() - started, problem)


def tables(name: str, part: Part, values: Mapping[str, str]) -> tuple[str, bool]:
    """Run a part. Return its tables for the page, and True if all commands succeeded."""
    lines = []
    good = True
    for command in part.commands:
        missing = [word for word in _names(command) if word not in values]
        if missing:
            options = ", ".join(f"`--{word.replace('_', '-')}`" for word in missing)
            lines += [f"{SKIPPED}: `benchmarks/run {name}` needs {options}.", ""]
            print(f"Skipping {name}: it needs {options}", flush=True)
            continue
        shown = command.format_map({word: word.upper() for word in values})
        print(f"\n=== {name}: python benchmarks/{shown}", flush=True)
        outcome = run(command, values)
        print(f"=== {outcome.seconds:.0f} s {outcome.problem}".rstrip(), flush=True)
        where = f"{date.today()}, {machine()}, {outcome.seconds:.0f} s"
        lines += [f"{COMMAND}{shown}` ({where}):", ""]
        lines += ["```text", outcome.printed, "```", ""]
        if outcome.problem:
            good = False
            lines += [f"**It failed or exceeded a limit**: {outcome.problem}", ""]
    return without_places("\n".join(lines), values), good


def _names(command: str) -> list[str]:
    return re.findall(r"{(\w+)}", command)


def machine() -> str:
    """Describe the machine without identifying it."""
    return (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )


def without_places(text: str, values: Mapping[str, str]) -> str:
    """Remove paths of this machine from a text."""
    places = {str(ROOT), tempfile.gettempdir(), str(Path.home()), *values.values()}
    cache = os.environ.get("WINNOW_CACHE")
    for place in sorted({*places, *([cache] if cache else [])}, key=len, reverse=True):
        if len(place) > 1:
            text = re.sub(rf"{re.escape(place)}(?=[/\s:'\"),]|$)", "…", text)
    return text


def versions(peers: Mapping[str, Sequence[str]]) -> str:
    """List the peers with their versions; name missing peers."""
    listed = ", ".join(f"{name} {_version(peers[name])}" for name in peers)
    return "\n".join(textwrap.wrap(f"Peers: {listed}.", 100))


def _version(command: Sequence[str]) -> str:
    if shutil.which(command[0]) is None:
        return "(missing)"
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = _NUMBER.search(done.stdout + done.stderr)
    return found[0] if found else "(version unknown)"


def tables_of(page: str, parts: Mapping[str, Part]) -> dict[str, str]:
    """Return the text below the introduction of each section, by title. A table may contain lines
    that look like other titles."""
    titles = "|".join(re.escape(part.title) for part in parts.values())
    pieces = re.split(rf"^## ({titles})$", page, flags=re.M)[1:]
    return {
        title: text.strip().partition("\n\n")[2]
        for title, text in zip(pieces[::2], pieces[1::2], strict=True)
    }


def page_with(page: str, peers: str, made: Mapping[str, str], parts: Mapping[str, Part]) -> str:
    """Return the page with new tables, in the order of the parts. Parts that are skipped or were
    not run keep their tables."""
    earlier = tables_of(page, parts)
    texts = [f"{HEAD}\n{peers}\n"]
    for name, part in parts.items():
        head = "\n".join(
            [f"## {part.title}", "", *textwrap.wrap(part.shows, 100, break_on_hyphens=False)]
        )
        never = f"Not run yet: `benchmarks/run {name}`"
        below = made.get(name) or earlier.get(part.title) or never
        if below.startswith(SKIPPED) and earlier.get(part.title, "").startswith(COMMAND):
            below = earlier[part.title]
        texts.append(f"{head}\n\n{below.strip()}\n")
    return "\n".join(texts)


def chosen(names: Iterable[str]) -> list[str]:
    """Return the parts to run, in order."""
    selected = set(names) or {name for name, part in PARTS.items() if not part.long}
    return [name for name in PARTS if name in selected]


def options_of() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks/run", description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="NAME", help="parts to run, see --list")
    parser.add_argument("--list", action="store_true", help="list the parts and exit")
    parser.add_argument("--page", type=Path, default=PAGE, help="write another page")
    parser.add_argument(
        "--retrieval-annotations", metavar="FILE", help="see benchmarks/questions.py"
    )
    parser.add_argument("--retrieval-corpora", metavar="FOLDER", help="their repositories")
    parser.add_argument("--retrieval-repositories", metavar="FILE", help="repos.json beside them")
    parser.add_argument("--newcomer-corpora", metavar="FOLDER", help="see benchmarks/newcomer.py")
    parser.add_argument("--newcomer-checkout", metavar="FOLDER", help="a checkout of 4d7211d")
    parser.add_argument("--issues", metavar="FILE", help="see benchmarks/issue_tokens.py")
    parser.add_argument("--issue-mirrors", metavar="FOLDER", help="bare clones of these")
    parser.add_argument(
        "--ranker-commits", metavar="FOLDER", help="see benchmarks/commit_queries.py"
    )
    parser.add_argument("--ranker-clones", metavar="FOLDER", help="bare clones of these")
    parser.add_argument("--symbol-truth", metavar="FOLDER", help="see benchmarks/symbol_search.py")
    parser.add_argument("--symbol-corpora", metavar="FOLDER", help="its source trees")
    return parser


def main() -> int:
    parser = options_of()
    options = parser.parse_args()
    if options.list:
        for name, part in PARTS.items():
            print(f"{name:20}{part.title}{' (long: runs only if named)' if part.long else ''}")
        return 0
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part: {', '.join(sorted(unknown))}")
    values = {
        name: str(Path(value).resolve())
        for name, value in vars(options).items()
        if isinstance(value, str)
    }
    if annotations := values.get("retrieval_annotations"):
        beside = str(Path(annotations).with_name("repos.json"))
        values.setdefault("retrieval_repositories", beside)
    started = time.perf_counter()
    names, failed = chosen(options.parts), []
    peers = versions(PEERS)
    for name in names:
        text, good = tables(name, PARTS[name], values)
        failed += [name] * (not good)
        # Written after each part, because a later part may be interrupted.
        page = options.page.read_text("utf-8") if options.page.exists() else ""
        options.page.write_text(page_with(page, peers, {name: text}, PARTS), "utf-8")
    minutes = (time.perf_counter() - started) / 60
    print(f"\n{len(names)} parts in {minutes:.1f} minutes, see {options.page}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
