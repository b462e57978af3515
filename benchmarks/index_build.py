"""Measure the build of an index from nothing: time, size and memory, compared with peers.

    python benchmarks/index_build.py [TREE...] [--runs N] [--limit MB]

A TREE is a folder, or a name from corpora.py; without one, it is django. Each tree is copied into a
temporary folder. `winnow index build` and the peers run on the copy in turn, each without an
earlier index. A row has the medians of the runs:

- `winnow, texts`: Winnow until the texts of all files are indexed, and searches by meaning use
  the index. `winnow` does this first.
- `s`: seconds from start to exit; `CPU s`: CPU seconds of the program and its children.
- `MB`: size on disk, with Winnow's parts below its row; empty for what is only in memory.
- `together`, `server`, `child`: peak of anonymous memory in MB, of all processes, of the program
  itself, and of its largest child (Linux only).

Peers are universal-ctags (definitions only), ripgrepx (trigrams only, in memory), and semble and
tantivy (ranked text only; tantivy with its own English tokenizer, one document for each file, one
thread). `benchmarks/run` installs them; the last line names missing ones.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import corpora
from language_client import anonymous_memory, cpu_seconds
from memory import SETTINGS, Peaks
from peers import peers_python
from text_index import Rgx

TEXTS = """
import asyncio, os
from pathlib import Path
from winnow.frontends import config_files
from winnow.search.index.build import build_index
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace
async def main():
    config, _ = config_files.load(os.environ, Path.cwd())
    workspace = EngineWorkspace([Path.cwd()], config)
    build = asyncio.create_task(build_index(workspace, no_progress, consent=True))
    while not (build.done() or workspace.index.state().knows_all_texts):
        await asyncio.sleep(0.01)
    build.cancel()
    await asyncio.wait({build})
    await workspace.aclose()
asyncio.run(main())
"""
SEMBLE = """
import sys
sys.path.append(sys.argv[1])
from pathlib import Path
from typing import Any
from retrieval_peers import semble
semble(Path("."))
"""
TANTIVY = """
import os, subprocess, sys, tantivy
builder = tantivy.SchemaBuilder()
builder.add_text_field("path", stored=True)
builder.add_text_field("body", tokenizer_name="en_stem")
os.mkdir(sys.argv[1])
index = tantivy.Index(builder.build(), path=sys.argv[1])
writer = index.writer(heap_size=50_000_000, num_threads=1)
for name in subprocess.check_output(["rg", "--files", "--null"]).split(b"\\0")[:-1]:
    with open(name, "rb") as file:
        text = file.read().decode("utf-8", "replace")
    writer.add_document(tantivy.Document(path=os.fsdecode(name), body=text))
writer.commit()
writer.wait_merging_threads()
"""
# The figures of a row; None where there is none.
Row = tuple[Any, ...]
Build = Callable[[Path, Path], Row]
TITLES = ("s", "CPU s", "MB", "together", "server", "child")


def measured(
    command: Sequence[str], tree: Path, made: Path | None = None, **environment: str
) -> Row:
    """Run a command in the tree; ``made`` is the file or folder that it creates, if any."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=tree,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with Peaks(process.pid) as peaks:
        # Reaped only after the last sample.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        seconds = time.perf_counter() - started
    if process.wait():
        raise RuntimeError(f"{command[0]} failed with exit code {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = peaks.together, peaks.server, peaks.child
    return seconds, cpu, size([made]) if made else None, *memory


def size(paths: Iterable[Path]) -> float:
    """Return the size of files, and of folders with all that they contain, in MB."""
    files = [file for path in paths for file in (path, *path.rglob("*")) if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


def winnow(tree: Path, work: Path) -> Row:
    shutil.rmtree(tree / ".winnow", ignore_errors=True)
    command = [sys.executable, "-m", "winnow", "index", "build"]
    # In this process: the background process would not be measured.
    alone = {"WINNOW_CONFIG": str(work / "config.toml"), "WINNOW_BACKGROUND": "0"}
    return measured(command, tree, tree / ".winnow", **alone)


def winnow_texts(tree: Path, work: Path) -> Row:
    shutil.rmtree(tree / ".winnow", ignore_errors=True)
    command = [sys.executable, "-c", TEXTS]
    return measured(command, tree, tree / ".winnow", WINNOW_CONFIG=str(work / "config.toml"))


def ctags(tree: Path, work: Path) -> Row:
    tags = work / "tags"
    return measured(["ctags", "-R", "--exclude=.winnow", "-f", str(tags), "."], tree, tags)


def semble(tree: Path, _work: Path) -> Row:
    return measured([str(peers_python()), "-c", SEMBLE, os.path.dirname(__file__)], tree)


def tantivy(tree: Path, work: Path) -> Row:
    made = work / "tantivy"
    shutil.rmtree(made, ignore_errors=True)
    return measured([str(peers_python()), "-c", TANTIVY, str(made)], tree, made)


def ripgrepx(tree: Path, work: Path) -> Row:
    """Measure the background process of `rgx` when it reports that it is ready."""
    rgx = Rgx(tree, work / "rgx")
    try:
        pid = _process_with(f"RGX_CACHE_DIR={work / 'rgx'}")
        memory = anonymous_memory(pid)
        return rgx.seconds, cpu_seconds(pid), None, memory, memory, 0.0
    finally:
        rgx.stop()


def _process_with(variable: str) -> int:
    """Return the process that has a variable in its environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if variable.encode() in (folder / "environ").read_bytes().split(b"\0"):
                return int(folder.name)
        except OSError:  # it has exited, or belongs to another user
            continue
    raise RuntimeError(f"no process has {variable}")


def peers() -> dict[str, Build | None]:
    """Return the builds of the peers; None for one that is not installed."""
    python = peers_python()
    imports = [python or "false", "-c", "import tantivy"]
    has_tantivy = not subprocess.run(imports, stderr=subprocess.DEVNULL).returncode
    return {
        "universal-ctags": ctags if shutil.which("ctags") else None,
        "ripgrepx": ripgrepx if shutil.which("rgx") else None,
        "semble": semble if python else None,
        "tantivy": tantivy if has_tantivy else None,
    }


def print_row(title: str, *figures: float | None) -> None:
    shown = ("" if one is None else f"{one:.1f}" for one in figures)
    print(f"{title:24}" + "".join(f"{one:>10}" for one in shown), flush=True)


def print_table(source: Path, builds: dict[str, Build], runs: int, limit: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name).resolve()
        (work / "config.toml").write_text(SETTINGS.format(limit))
        tree = work / "trees" / source.name
        shutil.copytree(source, tree, symlinks=True, ignore=shutil.ignore_patterns(".winnow"))
        print(f"\n{f'{source.name}, {size([tree]):.0f} MB':24}", *(f"{one:>9}" for one in TITLES))
        rows: dict[str, list[Row]] = {title: [] for title in builds}
        for _ in range(runs):
            for title, build in builds.items():
                rows[title].append(build(tree, work))
        for title, row in rows.items():
            columns = zip(*row, strict=True)
            print_row(title, *(None if None in one else statistics.median(one) for one in columns))
            if title == "winnow":
                print_row("  database", None, None, size((tree / ".winnow").glob("*.db*")))
                print_row("  segments", None, None, size((tree / ".winnow").glob("*.seg")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", nargs="*", default=["django"], metavar="TREE")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=200, help="index.max_memory_usage_mb")
    options = parser.parse_args()
    known = {"django": corpora.django, "redis": corpora.redis, "kernel": corpora.kernel}
    all_peers = peers()
    own = {"winnow, texts": winnow_texts, "winnow": winnow}
    builds = own | {name: build for name, build in all_peers.items() if build}
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"Python {sys.version.split()[0]}, {machine}, median of {options.runs} runs")
    for name in options.trees:
        source = known[name]() if name in known else Path(name).resolve()
        print_table(source, builds, options.runs, options.limit)
    if missing := [name for name, build in all_peers.items() if build is None]:
        print(f"\nMissing: {', '.join(missing)}")


if __name__ == "__main__":
    main()
