"""Find the code that raises an error, given its message or its stack trace.

    python benchmarks/errors.py [--language NAME …] [--system NAME …] [--failures]

Programs in seven languages call libraries wrongly (`error_cases.py`). Their messages and stack
traces, as printed, are the queries. Each language has one workspace: the sources of its libraries
with their tests and documentation, as published. The programs run with copies in another folder. A
row is right if its lines contain a line that raises the error. `first` and `top 3` are the shares
of queries with such a row.

Sources come from the languages' own package managers and from Debian, and are kept in the folder of
`corpora.py`. A language whose tools are missing is skipped.

Systems: `winnow` is `code_search`, `winnow-semantic` is `semantic_search`; `ripgrep` sorts lines by
how many of the five longest words of the query they have; `semble` see `retrieval_peers.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import corpora
from error_cases import CASES, Case
from peers import peers_python

from winnow.config import Config, IndexSettings
from winnow.tools import TOOLS
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

HERE = Path(__file__).parent
ROWS = 3
LONGEST_WORDS = 5
SECONDS = 60
# An error is no reason to wait for a network.
OFFLINE = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}


class Query(NamedTuple):
    """A message or a stack trace, and the lines that raise the error, by file."""

    text: str
    is_trace: bool
    lines: Mapping[str, Sequence[int]]


class Row(NamedTuple):
    path: str
    line: int
    end_line: int


class Language(NamedTuple):
    """How to get libraries, and to run a program with them.

    ``fetch`` fills a folder: `sources` is the workspace, `run` is for programs. ``prepare`` writes
    and compiles one program of all cases in `run`, and returns the command that runs one case,
    whose number follows. ``message`` matches the message in what it prints.
    """

    tools: Sequence[str]
    fetch: Callable[[Path], None]
    prepare: Callable[[Path, Sequence[Case]], list[str]]
    message: str


# --- languages -----------------------------------------------------------------------------


def run(*command: str, cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, check=True, stdout=sys.stderr)


def copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("dist", ".git", "target"))


def fetch_python(folder: Path) -> None:
    packages = ["flask==3.1.0", "requests==2.32.3", "click==8.1.8"]
    pip = [sys.executable, "-m", "pip"]
    run(*pip, "install", "--quiet", "--target", "run", *packages, cwd=folder)
    options = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", "packed"]
    run(*pip, *options, *packages, cwd=folder)
    (folder / "sources").mkdir()
    for archive in (folder / "packed").iterdir():
        shutil.unpack_archive(archive, folder / "sources")


def prepare_python(folder: Path, cases: Sequence[Case]) -> list[str]:
    calls = "".join(f"    if case == {n}:\n        {case.code}\n" for n, case in enumerate(cases))
    (folder / "main.py").write_text(
        "import sys\nimport click\nimport flask\nimport requests\n\n\n"
        f"def main(case):\n    app = flask.Flask('app')\n{calls}\n\nmain(int(sys.argv[1]))\n"
    )
    return [sys.executable, "main.py"]


def fetch_script(folder: Path) -> None:
    (folder / "run").mkdir()
    (folder / "run/package.json").write_text('{"private": true, "type": "module"}')
    packages = ("redux@5.0.1", "zod@4.1.12", "commander@12.1.0", "express@4.21.2", "esbuild@0.24.0")
    options = ("--silent", "--no-audit", "--no-fund")
    run("npm", "install", *options, *packages, cwd=folder / "run")
    modules = folder / "run/node_modules"
    for name, keep in (("redux", "src"), ("zod", "src"), ("commander", ""), ("express", "")):
        for below in (keep, "README.md") if keep else ("",):
            source, target = modules / name / below, folder / "sources" / name / below
            if source.is_dir():
                copy(source, target)
            else:
                shutil.copyfile(source, target)


def prepare_script(folder: Path, cases: Sequence[Case]) -> list[str]:
    calls = "".join(f"function case{n}() {{\n  {case.code}\n}}\n" for n, case in enumerate(cases))
    names = ", ".join(f"case{n}" for n in range(len(cases)))
    (folder / "main.ts").write_text(
        'import { applyMiddleware, combineReducers, createStore } from "./node_modules/redux/src"\n'
        'import * as z from "./node_modules/zod/src"\n'
        'import { Command } from "commander"\nimport express from "express"\n'
        f"{calls};[{names}][Number(process.argv[2])]()\n"
    )
    options = (
        "--bundle",
        "--platform=node",
        "--sourcemap",
        "--outfile=main.cjs",
        "--log-level=error",
    )
    run("node_modules/.bin/esbuild", "main.ts", *options, cwd=folder)
    return ["node", "--enable-source-maps", "main.cjs"]


def fetch_go(folder: Path) -> None:
    (folder / "run").mkdir()
    (folder / "run/go.mod").write_text(
        "module example.org/app\n\ngo 1.22\n\nrequire (\n\tgithub.com/spf13/cobra v1.8.1\n"
        "\tgithub.com/spf13/pflag v1.0.5\n)\n"
    )
    modules = ("github.com/spf13/cobra", "github.com/spf13/pflag")
    for module in modules:
        found = subprocess.run(
            ["go", "mod", "download", "-json", module],
            cwd=folder / "run", check=True, stdout=subprocess.PIPE,
        )  # fmt: skip
        copy(Path(json.loads(found.stdout)["Dir"]), folder / "sources" / module.rpartition("/")[2])
    run("chmod", "-R", "u+w", "sources", cwd=folder)


def prepare_go(folder: Path, cases: Sequence[Case]) -> list[str]:
    calls = "".join(f"\tcase {n}:\n\t\t{case.code}\n" for n, case in enumerate(cases))
    (folder / "main.go").write_text(
        'package main\n\nimport (\n\t"fmt"\n\t"io"\n\t"os"\n\t"strconv"\n\n'
        '\t"github.com/spf13/cobra"\n\t"github.com/spf13/pflag"\n)\n\n'
        "func nothing(c *cobra.Command, args []string) {}\n\n"
        "func run(c *cobra.Command, args ...string) {\n\tc.SilenceUsage = true\n"
        "\tc.SetArgs(args)\n\tc.Execute()\n}\n\n"
        'func fail(err error) { fmt.Fprintln(os.Stderr, "Error:", err) }\n\n'
        "func main() {\n\t_ = io.Discard\n\tn, _ := strconv.Atoi(os.Args[1])\n"
        f"\tswitch n {{\n{calls}\t}}\n}}\n"
    )
    run("go", "mod", "tidy", cwd=folder)
    run("go", "build", "-o", "main", ".", cwd=folder)
    return ["./main"]


def fetch_rust(folder: Path) -> None:
    (folder / "run/src").mkdir(parents=True)
    (folder / "run/src/main.rs").write_text("fn main() {}\n")
    (folder / "run/Cargo.toml").write_text(
        '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
        'axum = { version = "=0.7.9", default-features = false }\nclap = "=4.5.23"\n'
        'tokio = { version = "=1.42.0", features = ["rt", "sync", "time"] }\n'
    )
    run("cargo", "vendor", "--quiet", "vendor", cwd=folder / "run")
    for name in ("axum", "axum-core", "tokio", "clap", "clap_builder", "http", "tower"):
        copy(folder / "run/vendor" / name, folder / "sources" / name)
    shutil.rmtree(folder / "run/vendor")


def prepare_rust(folder: Path, cases: Sequence[Case]) -> list[str]:
    calls = "".join(f"        {n} => {{ {case.code} }}\n" for n, case in enumerate(cases))
    (folder / "src/main.rs").write_text(
        "#![allow(unused_must_use)]\nfn main() {\n    let case = std::env::args().nth(1);\n"
        f"    match case.unwrap().parse::<u32>().unwrap() {{\n{calls}        _ => (),\n    }}\n}}\n"
    )
    run("cargo", "build", "--quiet", cwd=folder)
    return ["target/debug/app"]


def fetch_java(folder: Path) -> None:
    corpora.debian_source("libcommons-lang3-java", folder / "sources")
    (folder / "run").mkdir()


def prepare_java(folder: Path, cases: Sequence[Case]) -> list[str]:
    calls = "".join(f"            case {n}: {case.code} break;\n" for n, case in enumerate(cases))
    packages = ("", "math.", "reflect.", "time.")
    imports = "".join(f"import org.apache.commons.lang3.{name}*;\n" for name in packages)
    (folder / "Main.java").write_text(
        f"{imports}\npublic class Main {{\n"
        "    public static void main(String[] arguments) throws Exception {\n"
        f"        switch (Integer.parseInt(arguments[0])) {{\n{calls}        }}\n    }}\n}}\n"
    )
    [sources] = folder.parent.glob("sources/*/src/main/java")
    files = [str(file) for file in sources.rglob("*.java")]
    run("javac", "-nowarn", "-encoding", "UTF-8", "-d", "classes", *files, "Main.java", cwd=folder)
    return ["java", "-cp", "classes", "Main"]


def fetch_cpp(folder: Path) -> None:
    corpora.debian_source("fmtlib", folder / "sources")
    (folder / "run").mkdir()


def prepare_cpp(folder: Path, cases: Sequence[Case]) -> list[str]:
    calls = "".join(f"        case {n}: {case.code} break;\n" for n, case in enumerate(cases))
    (folder / "main.cpp").write_text(
        "#include <fmt/format.h>\n#include <cstdlib>\n\nint main(int, char** arguments) {\n"
        f"    switch (std::atoi(arguments[1])) {{\n{calls}    }}\n}}\n"
    )
    [include] = folder.parent.glob("sources/*/include")
    run("g++", "-w", "-DFMT_HEADER_ONLY", f"-I{include}", "main.cpp", "-o", "main", cwd=folder)
    return ["./main"]


def fetch_perl(folder: Path) -> None:
    shown = subprocess.run(
        ["perl", "-MConfig", "-e", "print $Config{privlibexp}"], check=True, stdout=subprocess.PIPE
    )
    copy(Path(os.fsdecode(shown.stdout)), folder / "sources")
    (folder / "run").mkdir()


def prepare_perl(folder: Path, cases: Sequence[Case]) -> list[str]:
    for number, case in enumerate(cases):
        (folder / f"{number}.pl").write_text(f"{case.code}\n")
    (folder / "main.pl").write_text("do './' . $ARGV[0] . '.pl'; die $@ if $@;\n")
    return ["perl", "main.pl"]


LANGUAGES = {
    "Python": Language(
        ["python3"], fetch_python, prepare_python, r"^(?!Traceback)[A-Za-z][\w.]*(?:: .*(?:\n.*)*)?"
    ),
    "JavaScript and TypeScript": Language(
        ["npm", "node"], fetch_script, prepare_script, r"^(?:\w*Error|error): .*"
    ),
    "Go": Language(["go"], fetch_go, prepare_go, r"^(?:panic|Error): .*"),
    "Rust": Language(
        ["cargo"], fetch_rust, prepare_rust, r"^(?:error: .*|thread 'main'.* panicked at .*\n.*)"
    ),
    "Java": Language(["java", "javac"], fetch_java, prepare_java, r"^Exception in thread .*"),
    "C++": Language(["g++"], fetch_cpp, prepare_cpp, r"^terminate called .*\n.*"),
    "Perl": Language(["perl"], fetch_perl, prepare_perl, r"^.+"),
}


# --- queries -------------------------------------------------------------------------------


def folder_of(name: str, language: Language) -> Path:
    """Return the folder of a language's libraries; fetch them first if they are missing."""
    folder = corpora.CORPORA / "errors" / re.sub(r"\W+", "-", name.replace("+", "p")).lower()
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        language.fetch(folder)
        (folder / "complete").touch()
    return folder


def queries_of(folder: Path, language: Language, cases: Sequence[Case]) -> Iterator[Query]:
    """Run the program for each case, and yield its message and stack trace."""
    command = language.prepare(folder / "run", cases)
    environment = os.environ | OFFLINE | {"PYTHONPATH": str(folder / "run"), "RUST_BACKTRACE": "1"}
    for number, case in enumerate(cases):
        printed = subprocess.run(
            [*command, str(number)], cwd=folder / "run", env=environment, timeout=SECONDS,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        ).stderr.decode("utf-8", "replace")  # fmt: skip
        messages = re.findall(language.message, printed, re.M)
        if not messages:
            raise RuntimeError(f"no error by {case.code}:\n{printed}")
        lines = lines_of(folder / "sources", case)
        yield Query(messages[-1 if "Traceback" in printed else 0].strip(), False, lines)
        if case.trace:
            yield Query(printed, True, lines)


def lines_of(sources: Path, case: Case) -> Mapping[str, Sequence[int]]:
    """Return the lines that raise the error of a case, by file."""
    found = {}
    for file in sources.rglob(case.file.rpartition("/")[2]):
        path = file.relative_to(sources).as_posix()
        if f"/{path}".endswith(f"/{case.file}"):
            lines = file.read_text("utf-8", "replace").split("\n")
            found[path] = [n for n, line in enumerate(lines, 1) if case.text in line]
    if len(found) != 1 or not all(found.values()):
        raise RuntimeError(f"the place is not unique: {case.file}, {case.text}: {found}")
    return found


# --- systems -------------------------------------------------------------------------------


def by_winnow(tool: str) -> Callable[[Path, Sequence[Query]], list[list[Row]]]:
    async def answers(folder: Path, queries: Sequence[Query]) -> list[list[Row]]:
        config = Config(index=IndexSettings(cpu_throttle_threshold=1.0))
        workspace = EngineWorkspace([folder], config)
        limit = "limit" if tool == "code_search" else "top_k"
        try:
            workspace.index.enable_watching()
            await workspace.index.build()
            found = []
            for query in queries:
                params = {"query": query.text, limit: ROWS}
                answer: Any = await TOOLS[tool].call(workspace, params, no_progress)
                found.append(list(map(row_of, answer.results)))
            return found
        finally:
            await workspace.aclose()

    def row_of(result: Any) -> Row:
        first = result.line if tool == "code_search" else result.start_line
        return Row(result.path, first or 0, result.end_line or 0)

    def search(sources: Path, queries: Sequence[Query]) -> list[list[Row]]:
        with tempfile.TemporaryDirectory() as folder:
            ignored = shutil.ignore_patterns(".winnow")
            shutil.copytree(sources, folder, symlinks=True, ignore=ignored, dirs_exist_ok=True)
            return asyncio.run(answers(Path(folder), queries))

    return search


def by_ripgrep(sources: Path, queries: Sequence[Query]) -> list[list[Row]]:
    """Search for the longest words, and sort lines by how many they have."""
    return [_lines_with(sources, query.text) for query in queries]


def _lines_with(sources: Path, text: str) -> list[Row]:
    words = sorted(dict.fromkeys(re.findall(r"\w{3,}", text)), key=len, reverse=True)
    counts: Counter[tuple[str, int]] = Counter()
    for word in words[:LONGEST_WORDS]:
        command = [
            "rg",
            "--line-number",
            "--ignore-case",
            "--fixed-strings",
            "--null",
            "-e",
            word,
            ".",
        ]
        printed = subprocess.run(command, cwd=sources, stdout=subprocess.PIPE).stdout
        for line in printed.split(b"\n"):
            if found := re.match(rb"\./([^\0]+)\0(\d+):", line):
                counts[os.fsdecode(found[1]), int(found[2])] += 1
    best = sorted(counts, key=lambda place: (-counts[place], place))
    return [Row(path, line, line) for path, line in best[:ROWS]]


def by_semble(sources: Path, queries: Sequence[Query]) -> list[list[Row]] | None:
    python = peers_python()
    if python is None:
        return None
    asked = "".join(json.dumps({"query": query.text}) + "\n" for query in queries)
    command = [python, str(HERE / "retrieval_peers.py"), "semble", str(sources)]
    answered = subprocess.run(
        command, input=asked.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    return [
        [Row(row["path"], row["line"], row["end_line"]) for row in json.loads(line)[:ROWS]]
        for line in answered.stdout.splitlines()
    ]


SYSTEMS: dict[str, Callable[[Path, Sequence[Query]], list[list[Row]] | None]] = {
    "winnow": by_winnow("code_search"),
    "winnow-semantic": by_winnow("semantic_search"),
    "ripgrep": by_ripgrep,
    "semble": by_semble,
}


def rank_of(query: Query, rows: Sequence[Row]) -> int:
    """Return the rank of the first right row, from 1; 0 for none."""
    for rank, row in enumerate(rows, 1):
        path = os.path.normpath(row.path)
        if any(row.line <= line <= row.end_line for line in query.lines.get(path, ())):
            return rank
    return 0


# --- the tables ----------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--language", action="append", choices=LANGUAGES)
    parser.add_argument("--system", action="append", choices=SYSTEMS)
    parser.add_argument("--failures", action="store_true", help="print queries without a right row")
    options = parser.parse_args()
    ranks: dict[tuple[str, bool, str], list[int]] = {}
    for name in options.language or LANGUAGES:
        language = LANGUAGES[name]
        if missing := [tool for tool in language.tools if shutil.which(tool) is None]:
            print(f"{name}: skipped, {', '.join(missing)} is not installed")
            continue
        folder = folder_of(name, language)
        queries = list(queries_of(folder, language, CASES[name]))
        for system in options.system or SYSTEMS:
            start = time.perf_counter()
            answers = SYSTEMS[system](folder / "sources", queries)
            if answers is None:
                continue
            print(f"{name}, {system}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
            for query, rows in zip(queries, answers, strict=True):
                rank = rank_of(query, rows)
                ranks.setdefault((system, query.is_trace, name), []).append(rank)
                if options.failures and rank != 1:
                    kind = "trace" if query.is_trace else "message"
                    print(f"\n{system}, {kind}, rank {rank}: {query.text[:300]}")
                    print("  expected", *(f"{path}:{lines}" for path, lines in query.lines.items()))
                    print(
                        *(f"  found {row.path}:{row.line}-{row.end_line}\n" for row in rows), sep=""
                    )
    for is_trace, title in ((False, "messages"), (True, "stack traces")):
        print(f"\n{title:28}{'system':18}{'queries':>8}{'first':>8}{'top 3':>8}")
        for system in options.system or SYSTEMS:
            every = {
                name: found
                for (of, kind, name), found in ranks.items()
                if of == system and kind == is_trace
            }
            if not every:
                print(f"{'':28}{system:18}   missing")
                continue
            all_ranks = [rank for found in every.values() for rank in found]
            for name, found in [("all", all_ranks), *every.items()]:
                first = sum(rank == 1 for rank in found) / len(found)
                best = sum(rank > 0 for rank in found) / len(found)
                print(f"{name:28}{system:18}{len(found):8}{first:8.0%}{best:8.0%}")


if __name__ == "__main__":
    main()
