"""All tables in one run, and the page with them: docs/benchmarks.md. See `benchmarks/run`, which
installs the peers and calls this.

A part of the page is one or more commands that print tables. What they print is shown as it comes,
and stands on the page with the command, the date, the machine and the seconds that it took; that a
part has failed, or that it was left out, does, too. What is not run now stays as it was.
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

Everything here is printed by one command, which fetches the trees, installs the peers outside of
the checkout, and writes this page:

```sh
benchmarks/run                 # all but the parts that take long
benchmarks/run start tokens    # some parts; --list names them, and what they need
```

Each table stands as its command printed it. Where a figure has a limit, it is the one that we hold
ourselves to. Winnow runs from this checkout, ripgrep is the one that comes with it.
"""


class Part(NamedTuple):
    """A section of the page: what its tables show, and what falls short.

    Commands are scripts of this folder with their arguments; `{name}` in them is an option of
    :func:`main`, and a part for which one is missing is left out. One that is ``long`` runs only if
    it is named.
    """

    title: str
    commands: Sequence[str]
    shows: str
    long: bool = False


PARTS = {
    "start": Part(
        "Start",
        ["start.py --runs 7", "mcp_start.py --runs 7"],
        "What it costs to start the language server, beside pygls with nothing in it; a command,"
        " beside Python with nothing to do; and the MCP server, until an agent has its first"
        " answer. That is mostly the import of the MCP package, and what a command takes is mostly"
        " Python's and ripgrep's own start: both are what falls short of a program in one binary.",
    ),
    "first-question": Part(
        "The first question of a session",
        ["first_question.py --runs 5"],
        "Fresh processes with the index of Django on disk, asked as soon as they can be. An answer"
        " is correct if it is that of a server whose index has long been open, and the right file"
        " is in it. The first row of an editor is to be there after 300 ms.",
    ),
    "keyword": Part(
        "Keyword search",
        ["keyword_search.py --runs 3", "django.py --runs 5"],
        "The first stage on the source of the Linux kernel, beside the flow that it replaces (one"
        " ripgrep for each term, and again for each that is dropped); then the whole command on"
        " Django, with the place of the right file in its answer. No model is asked.",
    ),
    "text": Part(
        "Text, without an index",
        ["grep.py --runs 3"],
        "`grep` over the wire beside ripgrep itself, on the kernel's source. A page of a common"
        " word comes early; to count all, or to find nothing, costs what ripgrep costs, and nothing"
        " at all costs a second look, at what ignore files hide, so that the answer can say so.",
    ),
    "text-index": Part(
        "Text, by the index",
        ["text_index.py --tree django --queries 30 --edits 100 --anew --most 100"],
        "Random queries on Django, before and after random edits, each held against what ripgrep"
        " finds; beside ripgrep, and ripgrepx, which keeps an index of its own. Ours is one index"
        " for symbols and meaning, too, so it takes longer to make; and an answer costs the wire,"
        " JSON, and what it says of the files that it left out. On a small tree, ripgrep itself"
        " needs no more than that; `text-index-kernel` is where an index pays.",
    ),
    "text-index-kernel": Part(
        "Text, by the index, on the kernel's source",
        ["text_index.py --edits 100 --anew"],
        "The same on 78,000 files, with the time, size and memory of the index. The draw decides:"
        " what costs is to read the files that may match, and after a query without any match, to"
        " see that no folder has changed, so that what ignore files hide need not be listed anew.",
        long=True,
    ),
    "symbols": Part(
        "Symbols and references",
        ["symbol_search.py indexing saved references"],
        "The index, one saved file, and references in Django, beside universal-ctags (which knows"
        " definitions only, and is several times faster at that) and pyright (which knows types,"
        " needs no index, and keeps none: its first answers take seconds).",
    ),
    "symbol-names": Part(
        "Names",
        ["symbol_search.py search"],
        "`workspace/symbol` over a hundred thousand and a million names of the kernel's source.",
        long=True,
    ),
    "symbol-quality": Part(
        "How right symbols and references are",
        ["symbol_search.py quality --truth {symbol_truth} --corpora {symbol_corpora}"],
        "Held against what pyright, tsserver and clangd answered, on the development split;"
        " universal-ctags' definitions, and pyright's search for names, against the same. What"
        " those servers do not know counts as wrong here, so precision is a lower bound.",
    ),
    "retrieval": Part(
        "Search by meaning",
        [
            "retrieval.py winnow semble probe ripgrep"
            " --annotations {retrieval_annotations} --repositories {retrieval_repositories}"
            " --corpora {retrieval_corpora}"
        ],
        "The development half of semble's public annotations: 25 repositories, 18 languages. The"
        " ranker that is shipped learned from these very questions, so its quality here is no"
        " measure; judged by rankers that were trained without the repository that is asked about,"
        " it is .875, and .883 with embeddings (`benchmarks/run ranker`). semble is quicker: it"
        " does not hold its answers against the files as they are now.",
    ),
    "tokens": Part(
        "Tokens until the right file",
        [
            "token_cost.py --annotations {retrieval_annotations}"
            " --repositories {retrieval_repositories} --corpora {retrieval_corpora}"
        ],
        "What an agent reads, for 30 questions, until it has a right file, beside the loop of grep"
        " and read, semble and probe. `keyword_search` names files with reasons and shows no code,"
        " which makes it cheap; the others show code, ten passages or more unless told otherwise,"
        " so that their whole answer costs more than semble's five. As in the table above, the"
        " index's ranker has learned from these questions, which flatters all rows of Winnow but"
        " the one without an index.",
    ),
    "ranker": Part(
        "Search by meaning, judged by rankers that do not know the questions",
        [
            "train_ranker.py --annotations {retrieval_annotations}"
            " --repositories {retrieval_repositories} --corpora {retrieval_corpora}"
            " --no-embeddings"
        ],
        "NDCG@10 by file, without embeddings; needs `winnow-ls[benchmark]`.",
        long=True,
    ),
    "memory": Part(
        "Memory",
        ["memory.py"],
        "The most that server and workers have together while an index of Django is made.",
    ),
    "documents": Part(
        "Documents",
        ["document_search.py --runs 5 --no-rga"],
        "1,000 generated PDFs and DOCX, searched for the first time and again, beside ripgrep over"
        " their texts: what is more than that is the server, JSON and places.",
    ),
    "documents-rga": Part(
        "Documents, beside ripgrep-all",
        ["document_search.py"],
        "The same beside ripgrep-all with all of them in its cache.",
        long=True,
    ),
    "document-formats": Part(
        "What is found in documents",
        ["document_formats.py"],
        "Words whose place is known, in documents that other programs made.",
        long=True,
    ),
    "secrets": Part(
        "Secrets",
        ["secrets_filter.py"],
        "What is left of made-up secrets, and what is taken for one and is none, beside"
        " betterleaks. Its rules for fixed formats are many more than our samples have.",
    ),
    "watcher": Part(
        "The watcher",
        ["watcher.py --idle 5"],
        "Until a change on disk is told, beside watchfiles, on the kernel's source. Most of what it"
        " takes to begin is to name each folder to the system.",
    ),
    "hazards": Part(
        "What strangers send, write and break",
        ["hazards.py"],
        "Each row is a test against a running server.",
        long=True,
    ),
    "embeddings": Part(
        "What vectors cost",
        ["embeddings.py"],
        "To make, keep and ask them; the peer is model2vec, if it is installed.",
        long=True,
    ),
    "stores": Part(
        "Where postings and vectors could be kept",
        ["stores.py"],
        "SQLite's FTS5, tantivy and our segments; usearch and numpy. Peers that are not installed"
        " are said to be missing.",
        long=True,
    ),
    "segments": Part(
        "The index's files",
        ["segments.py"],
        "How fast they are made, merged and asked.",
        long=True,
    ),
}

# How a peer tells its version.
PEERS = {
    "ripgrep": ["rg", "--version"],
    "semble": ["semble", "--version"],
    "universal-ctags": ["ctags", "--version"],
    "pyright": ["pyright", "--version"],
    "probe": ["probe", "--version"],
    "ripgrepx": ["rgx", "--version"],
    "ripgrep-all": ["rga", "--version"],
}
# What begins the text below the words of a section, with a table and without one.
COMMAND, LEFT_OUT = "`python benchmarks/", "Left out"
_NUMBER = re.compile(r"\d+(?:\.\d+)+[\w.-]*")


class Outcome(NamedTuple):
    """What a command printed, the seconds that it took, and what is wrong."""

    printed: str
    seconds: float
    problem: str


def run(command: str, values: Mapping[str, str]) -> Outcome:
    """Run a command of a part; what it prints is shown as it comes."""
    arguments = [one.format_map(values) for one in command.split()]
    started = time.perf_counter()
    printed = []
    with tempfile.TemporaryFile("w+") as complaints:
        with subprocess.Popen(
            [sys.executable, str(ROOT / "benchmarks" / arguments[0]), *arguments[1:]],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                printed.append(line)
        complaints.seek(0)
        said = complaints.read().strip()
    problem = ""
    if process.returncode:
        print(said, file=sys.stderr)
        problem = f"exit code {process.returncode}" + f": {said.rpartition(chr(10))[2]}" * bool(
            said
        )
    return Outcome("".join(printed).strip("\n"), time.perf_counter() - started, problem)


def tables(name: str, part: Part, values: Mapping[str, str]) -> tuple[str, bool]:
    """Run a part; its tables for the page, and whether all went well."""
    lines = []
    good = True
    for command in part.commands:
        missing = [word for word in _names(command) if word not in values]
        if missing:
            options = ", ".join(f"`--{word.replace('_', '-')}`" for word in missing)
            lines += [f"{LEFT_OUT}: `benchmarks/run {name}` needs {options}.", ""]
            print(f"{name} is left out: it needs {options}", flush=True)
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
            lines += [f"**It has failed, or misses a limit**: {outcome.problem}", ""]
    return without_places("\n".join(lines), values), good


def _names(command: str) -> list[str]:
    return re.findall(r"{(\w+)}", command)


def machine() -> str:
    """What the figures depend on: never whose machine it is."""
    return (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )


def without_places(text: str, values: Mapping[str, str]) -> str:
    """The text without paths of this machine."""
    places = {str(ROOT), tempfile.gettempdir(), str(Path.home()), *values.values()}
    cache = os.environ.get("WINNOW_CACHE")
    for place in sorted({*places, *([cache] if cache else [])}, key=len, reverse=True):
        if len(place) > 1:
            text = re.sub(rf"{re.escape(place)}(?=[/\s:'\"),]|$)", "…", text)
    return text


def versions(peers: Mapping[str, Sequence[str]]) -> str:
    """The peers with their versions, or that they are missing."""
    told = ", ".join(f"{name} {_version(peers[name])}" for name in peers)
    return "\n".join(textwrap.wrap(f"Peers: {told}.", 100))


def _version(command: Sequence[str]) -> str:
    if shutil.which(command[0]) is None:
        return "(missing)"
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = _NUMBER.search(done.stdout + done.stderr)
    return found[0] if found else "(version unknown)"


def tables_of(page: str, parts: Mapping[str, Part]) -> dict[str, str]:
    """What stands on a page below the words of each section, by their titles; what a table has may
    look like another title."""
    titles = "|".join(re.escape(part.title) for part in parts.values())
    pieces = re.split(rf"^## ({titles})$", page, flags=re.M)[1:]
    return {
        title: text.strip().partition("\n\n")[2]
        for title, text in zip(pieces[::2], pieces[1::2], strict=True)
    }


def page_with(page: str, peers: str, made: Mapping[str, str], parts: Mapping[str, Part]) -> str:
    """The page with new tables, in the order of the parts; the others as they were, and so where a
    part was left out."""
    had = tables_of(page, parts)
    texts = [f"{HEAD}\n{peers}\n"]
    for name, part in parts.items():
        head = "\n".join(
            [f"## {part.title}", "", *textwrap.wrap(part.shows, 100, break_on_hyphens=False)]
        )
        never = f"Not run yet: `benchmarks/run {name}`"
        below = made.get(name) or had.get(part.title) or never
        if below.startswith(LEFT_OUT) and had.get(part.title, "").startswith(COMMAND):
            below = had[part.title]
        texts.append(f"{head}\n\n{below.strip()}\n")
    return "\n".join(texts)


def chosen(names: Iterable[str]) -> list[str]:
    """The parts to run, in their order."""
    wanted = set(names) or {name for name, part in PARTS.items() if not part.long}
    return [name for name in PARTS if name in wanted]


def options_of() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks/run", description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="NAME", help="parts, see --list")
    parser.add_argument("--list", action="store_true", help="name the parts, and run none")
    parser.add_argument("--page", type=Path, default=PAGE, help="write another page")
    parser.add_argument(
        "--retrieval-annotations", metavar="FILE", help="see benchmarks/questions.py"
    )
    parser.add_argument("--retrieval-corpora", metavar="FOLDER", help="the repositories for them")
    parser.add_argument("--retrieval-repositories", metavar="FILE", help="repos.json beside them")
    parser.add_argument("--symbol-truth", metavar="FOLDER", help="see benchmarks/symbol_search.py")
    parser.add_argument("--symbol-corpora", metavar="FOLDER", help="the sources for it")
    return parser


def main() -> int:
    parser = options_of()
    options = parser.parse_args()
    if options.list:
        for name, part in PARTS.items():
            print(f"{name:20}{part.title}{' (long: only if named)' if part.long else ''}")
        return 0
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
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
        # At once: a later one may be interrupted.
        page = options.page.read_text("utf-8") if options.page.exists() else ""
        options.page.write_text(page_with(page, peers, {name: text}, PARTS), "utf-8")
    minutes = (time.perf_counter() - started) / 60
    print(f"\n{len(names)} parts in {minutes:.1f} minutes, see {options.page}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
