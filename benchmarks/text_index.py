"""Compare indexed text search over LSP with ripgrep, on the Linux kernel's source.

    python benchmarks/text_index.py [--tree FOLDER|django] [--work FOLDER] [--queries N] [--edits N]

Without --tree, the source comes from the Debian package linux-source-6.1 (see corpora.py). It is
copied into --work ($WINNOW_CACHE/text-index), because the benchmark writes an index and edits
files. A copy from an earlier run is used again with its index, unless --fresh is given. A server
then builds the index within its memory limit; the limits on files and index size are raised, and
CPU throttling is off. Prints the minutes, the size of the index, and the peak anonymous memory of
the server and its workers together.

Queries are literals and regexes, rare and common, chosen with a seed from identifiers and lines of
the tree. For each query, `$/grep` returns all matching files and the first 50 matches; `rg
--files-with-matches` and `rg --json` do the same. They run alternately, after one warm-up each.
Every list of files is compared with ripgrep's. Then files are edited, renamed, created and deleted;
every 20 edits, a query runs immediately and is compared with ripgrep's result. Finally, all queries
run again.

If the peer `rgx` is installed (`pip install ripgrepx`), which has an index in a background process,
the same queries run with `rgx --compact` once its index is ready, in a separate copy of the tree
without edits. Its lists are compared with ripgrep's, too.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from corpora import django, kernel
from language_client import Client
from memory import BUILD_SECONDS, SETTINGS, WINNOW, Peaks

from winnow.processes.programs import InstalledPrograms

RG = InstalledPrograms(os.environ, ()).ripgrep()
MAX_RATIO = 0.1
MOST_FILES = 1_000_000
# Edits between two checks.
EDITS_PER_CHECK = 20
SAMPLED_FILES = 400

Params = dict[str, Any]


class Tree:
    """A copy of a tree, and a server that has it open."""

    def __init__(self, folder: Path, client: Client) -> None:
        self.folder = folder
        self._client = client

    def listed(self, params: Params) -> tuple[set[str], float]:
        """Return the matching files, and the time in milliseconds."""
        result, milliseconds = self._client.timed("$/grep", listing(params))
        assert not result["truncated"]
        return {file["path"] for file in result["files"]}, milliseconds

    def first_matches(self, params: Params) -> float:
        """Return the milliseconds until the first 50 matches."""
        return float(self._client.timed("$/grep", params)[1])

    def ripgrep(self, params: Params, *how: str) -> tuple[bytes, float]:
        """Return ripgrep's output, and the time in milliseconds."""
        flags = {
            "--fixed-strings": params.get("literal", False),
            "--ignore-case": not params.get("case_sensitive", True),
        }
        options = [flag for flag, is_set in flags.items() if is_set]
        command = [
            RG,
            "--no-config",
            "--no-require-git",
            *how,
            *options,
            "-e",
            params["pattern"],
            ".",
        ]
        started = time.perf_counter()
        # Exit codes are ignored: ripgrep reports errors in ignore files, which are edited, too.
        run = subprocess.run(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        return run.stdout, (time.perf_counter() - started) * 1000

    def check(self, params: Params) -> bool:
        """Return True if the server and ripgrep find the same files."""
        expected, _ = self.ripgrep(params, "--files-with-matches", "--null")
        found, _ = self.listed(params)
        if found != _paths(expected):
            print(f"DIFFERENT: {params}: {sorted(found ^ _paths(expected))[:5]}")
            return False
        return True


class Rgx:
    """The peer rgx on a folder, with its index."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "RGX_CACHE_DIR": str(cache)}
        started = time.perf_counter()
        self._run("--server", "start")
        while not re.search(rb"state +ready", self._run("--server", "status")[0]):
            if time.perf_counter() - started > BUILD_SECONDS:
                raise TimeoutError("rgx is not ready")
            time.sleep(0.05)
        self.seconds = time.perf_counter() - started

    def listed(self, params: Params) -> tuple[set[str], float]:
        """Return the matching files, and the time in milliseconds."""
        printed, milliseconds = self._search(params, "-l", "--page-size", str(MOST_FILES))
        names = printed.splitlines()[1:]  # the first line is their number
        return {os.fsdecode(name) for name in names}, milliseconds

    def first_matches(self, params: Params) -> float:
        """Return the milliseconds until the first 50 matches."""
        return self._search(params, "--page-size", "50")[1]

    def stop(self) -> None:
        self._run("--server", "stop")

    def _search(self, params: Params, *how: str) -> tuple[bytes, float]:
        flags = ["-F"] * params.get("literal", False)
        flags += ["-i"] * (not params.get("case_sensitive", True))
        return self._run("--compact", *how, *flags, "--", params["pattern"], ".")

    def _run(self, *arguments: str) -> tuple[bytes, float]:
        started = time.perf_counter()
        run = subprocess.run(
            ["rgx", *arguments],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        return run.stdout, (time.perf_counter() - started) * 1000


def _paths(printed: bytes) -> set[str]:
    return {os.fsdecode(path).removeprefix("./") for path in printed.split(b"\0")[:-1]}


def files_of(folder: Path) -> list[Path]:
    """List the files of a tree, without the files of an index."""
    return sorted(
        path
        for path in folder.rglob("*")
        if not path.is_symlink() and path.is_file() and ".winnow" not in path.parts
    )


# --- queries -------------------------------------------------------------------------------


def listing(params: Params) -> Params:
    """Return the same query for all matching files."""
    return {**params, "mode": "files", "max_results": MOST_FILES}


def drawn(files: Sequence[Path], count: int, chance: random.Random) -> list[Params]:
    """Generate queries from the text of the files; half of them are literals."""
    texts = [_text(path) for path in chance.sample(files, min(SAMPLED_FILES, len(files)))]
    words: list[str] = sorted(
        {word for text in texts for word in re.findall(r"[A-Za-z_]\w{3,}", text)}
    )
    lines = [line.strip() for text in texts for line in text.splitlines() if len(line) > 20]
    literals: list[Callable[[], Params]] = [
        lambda: {"pattern": chance.choice(words)},
        lambda: {"pattern": chance.choice(words), "case_sensitive": False},
        lambda: {"pattern": chance.choice(words)[:5], "literal": True},
        lambda: {"pattern": _piece(chance.choice(lines), chance), "literal": True},
    ]

    def word() -> str:
        return re.escape(chance.choice(words))

    regexes: list[Callable[[], Params]] = [
        lambda: {"pattern": rf"{word()}\s*\("},
        lambda: {"pattern": rf"\b{chance.choice(words)[:6]}\w+"},
        lambda: {"pattern": f"{word()}|{word()}"},
        lambda: {"pattern": rf"{chance.choice(words)[:4]}.*{chance.choice(words)[:4]}"},
        lambda: {"pattern": rf"^\s*(static|extern)\s.*\b{chance.choice(words)[:5]}"},
        lambda: {"pattern": rf"(?i)#\s*define\s+{chance.choice(words)[:5]}"},
        lambda: {"pattern": rf"{chance.choice(words)[:5]}[a-z_]*\[\d+\]"},
    ]
    makers = [*([literals] * (count // 2)), *([regexes] * (count - count // 2))]
    return [chance.choice(ways)() for ways in makers]


def _text(path: Path) -> str:
    return path.read_bytes()[:100_000].decode("utf-8", "ignore")


def _piece(line: str, chance: random.Random) -> str:
    start = chance.randrange(max(1, len(line) - 12))
    return line[start : start + chance.randint(6, 20)]


# --- edits ---------------------------------------------------------------------------------


class Edits:
    """Random changes of a tree."""

    def __init__(self, folder: Path, files: list[Path], chance: random.Random) -> None:
        self._folder = folder
        self._files = files
        self._chance = chance
        self._made = 0

    def make(self) -> None:
        chance = self._chance
        ways = [self._append] * 4 + [self._cut, self._remove, self._rename, self._copy]
        chance.choice(ways)()

    def _any(self) -> Path:
        while True:
            place = self._chance.randrange(len(self._files))
            if self._files[place].is_file():
                return self._files[place]
            self._files.pop(place)

    def _append(self) -> None:
        other = self._any().read_bytes()[:2_000]
        with self._any().open("ab") as file:
            file.write(other)

    def _cut(self) -> None:
        """Replace the file with a new file, like an editor that saves."""
        path = self._any()
        raw = path.read_bytes()
        new = path.with_name(f"{path.name}.new")
        new.write_bytes(raw[len(raw) // 3 :])
        new.replace(path)

    def _remove(self) -> None:
        self._any().unlink()

    def _rename(self) -> None:
        self._any().rename(self._new())

    def _copy(self) -> None:
        shutil.copyfile(self._any(), self._new())

    def _new(self) -> Path:
        self._made += 1
        path = self._any().with_name(f"made-{self._made}.c")
        self._files.append(path)
        return path


# --- measuring -----------------------------------------------------------------------------


def compare(
    tree: Tree, queries: Sequence[Params], title: str, max_ratio: float, rgx: Rgx | None = None
) -> bool:
    """Print two rows. Return True if all results are equal and the median time is at most
    ``max_ratio`` of ripgrep's."""
    names = ("list", "rg -l", "first", "rg --json", "rgx list", "rgx first")
    times: dict[str, list[float]] = {name: [] for name in names}
    equal = rgx_equal = 0
    for params in queries:
        expected = _paths(tree.ripgrep(params, "--files-with-matches", "--null")[0])
        if rgx is not None:
            rgx_equal += rgx.listed(params)[0] == expected
            times["rgx list"].append(rgx.listed(params)[1])
            rgx.first_matches(params)
            times["rgx first"].append(rgx.first_matches(params))
        equal += tree.check(params)
        times["list"].append(tree.listed(params)[1])
        times["rg -l"].append(tree.ripgrep(params, "--files-with-matches")[1])
        tree.first_matches(params)
        times["first"].append(tree.first_matches(params))
        times["rg --json"].append(tree.ripgrep(params, "--json")[1])
    medians = {name: statistics.median(column) for name, column in times.items() if column}
    fast = True
    for row, ours, theirs, peer in (
        ("files", "list", "rg -l", "rgx list"),
        ("50 matches", "first", "rg --json", "rgx first"),
    ):
        ratio = medians[ours] / medians[theirs]
        fast &= ratio <= max_ratio
        slowest = max(a / b for a, b in zip(times[ours], times[theirs], strict=True))
        print(
            f"{title:18}{row:12}{medians[ours]:9.1f} ms{medians[theirs]:9.1f} ms{ratio:8.3f}x"
            f"{slowest:10.2f}x{equal:>9}/{len(queries)}"
            + (f"{medians[peer]:9.1f} ms{rgx_equal:>9}/{len(queries)}" if rgx else ""),
            flush=True,
        )
    return fast and equal == len(queries)


def check_edits(tree: Tree, edits: Edits, count: int, queries: Sequence[Params]) -> bool:
    """Edit files, and run a query immediately after some of the edits."""
    equal = checks = 0
    for number in range(count):
        edits.make()
        if number % EDITS_PER_CHECK == EDITS_PER_CHECK - 1:
            equal += tree.check(queries[checks % len(queries)])
            checks += 1
    print(
        f"{count} edits: {equal} of {checks} queries right after an edit equal ripgrep's",
        flush=True,
    )
    return equal == checks


def working_copy(tree: Path, folder: Path, *, fresh: bool) -> Path:
    """Return a copy of the tree in a folder; create it if it is missing or `fresh` is set."""
    copy = folder / tree.name
    if fresh and copy.exists():
        shutil.rmtree(copy)
    if not copy.exists():
        ignored = shutil.ignore_patterns(".winnow")
        shutil.copytree(tree, copy, symlinks=True, ignore=ignored)
    return copy


def size_of(folder: Path) -> float:
    """Return the size of a folder's files, in MB."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path, help="a folder, or `django`")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--edits", type=int, default=1_000)
    parser.add_argument("--limit", type=int, default=200, help="index.max_memory_usage_mb")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--max-ratio", type=float, default=MAX_RATIO, help="fail if slower, relative to ripgrep"
    )
    parser.add_argument("--fresh", action="store_true", help="copy the tree and index it again")
    options = parser.parse_args()
    cache = os.environ.get("WINNOW_CACHE") or Path.home() / ".cache/winnow"
    work = options.work or Path(cache, "text-index")
    work.mkdir(parents=True, exist_ok=True)
    tree = django() if options.tree == Path("django") else options.tree or kernel()
    copy = working_copy(tree, work, fresh=options.fresh)
    settings = work / "config.toml"
    settings.write_text(SETTINGS.format(options.limit))
    version = subprocess.run([RG, "--version"], capture_output=True, text=True).stdout.split()[1]
    print(
        f"{copy.name}, ripgrep {version}, Python {sys.version.split()[0]}, {os.cpu_count()} cores,"
        f" load {os.getloadavg()[0]:.1f}, seed {options.seed}"
    )
    client = Client(WINNOW, copy, {**os.environ, "WINNOW_CONFIG": str(settings)})
    rgx: Rgx | None = None
    try:
        with Peaks(client.process.pid) as peaks:
            seconds = client.wait_for_progress(BUILD_SECONDS)
        print(
            f"index: {seconds / 60:.1f} minutes, {size_of(copy / '.winnow'):.0f} MB; peak anonymous"
            f" memory of server and workers {peaks.together:.0f} MB (server {peaks.server:.0f},"
            f" one worker {peaks.child:.0f})",
            flush=True,
        )
        # The server answers once it has loaded the names of all definitions, which continues
        # after the build.
        client.request("workspace/symbol", {"query": "start_kernel"})
        chance = random.Random(options.seed)
        files = files_of(copy)
        queries = drawn(files, options.queries, chance)
        searched = Tree(copy, client)
        if shutil.which("rgx"):
            (work / "other").mkdir(exist_ok=True)
            rgx = Rgx(working_copy(tree, work / "other", fresh=options.fresh), work / "rgx")
            print(f"rgx's index: ready after {rgx.seconds:.1f} s", flush=True)
        else:
            print("rgx is missing: pip install ripgrepx")
        theirs = f"{'rgx':>12}{'equal':>9}   " * (rgx is not None)
        heads = f"{'$/grep':>12}{'rg':>12}{'ratio':>9}{'slowest':>11}{'equal':>9}   "
        print(f"{'':30}{heads}{theirs}".rstrip())
        good = compare(searched, queries, "unchanged", options.max_ratio, rgx)
        good &= check_edits(searched, Edits(copy, files, chance), options.edits, queries)
        good &= compare(searched, queries, f"after {options.edits} edits", options.max_ratio)
    finally:
        if rgx is not None:
            rgx.stop()
        client.stop()
    return not good


if __name__ == "__main__":
    sys.exit(main())
