"""Ask 26 questions of people who are new to six code bases, at the command line.

    python benchmarks/newcomer.py --corpora FOLDER [FOLDER...] [--command search] [--keep-index]
                                  [--checkout FOLDER]

The tasks were written before the command `winnow QUESTION` existed, with places that were found by
reading the code, not with Winnow. A task is what a newcomer types: a question, a name, or an error
message as printed. A first result is right if its file and lines contain one of the places: the
line, identified by a part of its text. `name` also accepts a passage that is printed as a part of
the function of such a place (`src/evict.c:662-690  performEvictions`). Files are reported, too.

Each code base is copied, and its index is deleted before each task, unless `--keep-index` is set.
The code bases are folders below one of `--corpora`: django-5.1.4, redis (7.0.15), rxjs-7.8.1, tokio
(1.53.1), cobra (1.9.1) and commons-lang (3.18.0). `--checkout` runs another checkout of Winnow.
`time` is the time from the start of the process to its end, `keys` the number of characters to
type, with quotes and Enter, and `lines` the number of lines on standard output. The process runs
with the settings and the environment of the caller; `WINNOW_BACKGROUND=0` measures it alone.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PLACE = re.compile(r"^(?:\x1b\[[\d;]*m)*([^\s:][^:]*?)(?::(\d+)(?:-(\d+))?)?(?:  .*)?$")


class Task(NamedTuple):
    """A question of a newcomer, and its right places: files, each with a part of a line."""

    corpus: str
    question: str
    places: tuple[tuple[str, str], ...]


DJANGO, REDIS, RXJS, TOKIO, COBRA, LANG = (
    *("django-5.1.4", "redis", "rxjs-7.8.1", "tokio", "cobra", "commons-lang"),
)
HASHERS, SESSIONS = "django/contrib/auth/hashers.py", "django/contrib/sessions/backends"
JAVA = "src/main/java/org/apache/commons/lang3"
SCHEDULER = "tokio/src/runtime/scheduler/multi_thread"
TASKS = (
    Task(
        DJANGO,
        "where is a password checked against its hash",
        ((HASHERS, "def check_password("), (HASHERS, "def verify_password(")),
    ),
    Task(
        DJANGO,
        "how is a session deleted",
        (
            (f"{SESSIONS}/base.py", "def flush(self"),
            (f"{SESSIONS}/cached_db.py", "def flush(self"),
            *(
                (f"{SESSIONS}/{name}.py", "def delete(self")
                for name in ("base", "db", "cache", "cached_db", "file")
            ),
        ),
    ),
    Task(
        DJANGO,
        "FieldError: Cannot resolve keyword 'titel' into field. Choices are: id, name, title",
        (("django/db/models/sql/query.py", "Cannot resolve keyword '%s' into field"),),
    ),
    Task(DJANGO, "get_object_or_404", (("django/shortcuts.py", "def get_object_or_404("),)),
    Task(
        DJANGO,
        "which migrations are still to be applied",
        (("django/db/migrations/executor.py", "def migration_plan("),),
    ),
    Task(
        REDIS,
        "which keys are evicted when memory is full",
        (("src/evict.c", "int performEvictions(void) {"),),
    ),
    Task(
        REDIS,
        "OOM command not allowed when used memory > 'maxmemory'.",
        (("src/server.c", "-OOM command not allowed when used memory"),),
    ),
    Task(REDIS, "serverCron", (("src/server.c", "int serverCron("),)),
    Task(
        REDIS,
        "how is a replica partially resynchronized",
        (("src/replication.c", "int masterTryPartialResynchronization("),),
    ),
    Task(
        REDIS,
        "rewrite the append only file in the background",
        (("src/aof.c", "int rewriteAppendOnlyFileBackground("),),
    ),
    Task(
        RXJS,
        "TypeError: You provided 'undefined' where a stream was expected. You can provide an"
        " Observable, Promise, ReadableStream, Array, AsyncIterable, or Iterable.",
        (("src/internal/util/throwUnobservableError.ts", "where a stream was expected"),),
    ),
    Task(
        RXJS, "switchMap", (("src/internal/operators/switchMap.ts", "export function switchMap<"),)
    ),
    Task(
        RXJS,
        "how does retry wait before it subscribes again",
        (("src/internal/operators/retry.ts", "if (delay != null) {"),),
    ),
    Task(
        RXJS,
        "where does an error go that no subscriber handles",
        (("src/internal/util/reportUnhandledError.ts", "export function reportUnhandledError("),),
    ),
    Task(
        TOKIO,
        "thread 'main' panicked at src/main.rs:5:5: there is no reactor running, must be called"
        " from the context of a Tokio 1.x runtime",
        (("tokio/src/util/error.rs", "there is no reactor running"),),
    ),
    Task(
        TOKIO,
        "Cannot start a runtime from within a runtime. This happens because a function (like"
        " `block_on`) attempted to block the current thread while the thread is being used to drive"
        " asynchronous tasks.",
        (("tokio/src/runtime/context/runtime.rs", "Cannot start a runtime from within"),),
    ),
    Task(
        TOKIO,
        "how does a worker steal tasks from another worker",
        (
            (f"{SCHEDULER}/worker.rs", "fn steal_work("),
            (f"{SCHEDULER}/queue.rs", "pub(crate) fn steal_into("),
            (f"{SCHEDULER}/queue.rs", "fn steal_into2("),
        ),
    ),
    Task(
        TOKIO, "spawn_blocking", (("tokio/src/task/blocking.rs", "pub fn spawn_blocking<F, R>("),)
    ),
    Task(
        COBRA,
        'Error: unknown command "statsu" for "app"',
        (("args.go", 'fmt.Errorf("unknown command %q for %q'),),
    ),
    Task(
        COBRA,
        "suggest similar commands for a mistyped one",
        (
            ("command.go", "func (c *Command) SuggestionsFor("),
            ("command.go", "func (c *Command) findSuggestions("),
        ),
    ),
    Task(
        COBRA,
        "where are completions for bash generated",
        (
            ("bash_completions.go", "func (c *Command) GenBashCompletion("),
            ("bash_completionsV2.go", "func (c *Command) genBashCompletion("),
            ("bash_completionsV2.go", "func (c *Command) GenBashCompletionV2("),
        ),
    ),
    Task(COBRA, "ExactArgs", (("args.go", "func ExactArgs("),)),
    Task(LANG, "isBlank", ((f"{JAVA}/StringUtils.java", "public static boolean isBlank("),)),
    Task(
        LANG,
        "how many edits are between two strings",
        ((f"{JAVA}/StringUtils.java", "public static int getLevenshteinDistance("),),
    ),
    Task(
        LANG,
        "shorten a text with dots at the end",
        ((f"{JAVA}/StringUtils.java", "public static String abbreviate("),),
    ),
    Task(
        LANG,
        "what caused an exception in the first place",
        ((f"{JAVA}/exception/ExceptionUtils.java", "public static Throwable getRootCause("),),
    ),
)


class Row(NamedTuple):
    """The outcome of a task: the first result, and whether its place and its file are right."""

    task: Task
    first: str
    is_right: bool
    is_in_function: bool
    is_right_file: bool
    seconds: float
    keys: int
    lines: int


def run(task: Task, folder: Path, command: Sequence[str], checkout: Path | None) -> Row:
    """Type a task's question in a folder."""
    typed = [*command, task.question]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "server")} if checkout else None
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "winnow", *typed],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    seconds = time.perf_counter() - started
    # People quote with double quotes, and escape those in a message.
    question = '"' + re.sub(r'(["`$\\])', r"\\\1", task.question) + '"'
    keys = len(shlex.join(["winnow", *command]) + f" {question}\n")
    lines = done.stdout.splitlines()
    heads = (PLACE.match(line) for line in lines)
    first = next((found for found in heads if found and (folder / found[1]).is_file()), None)
    right = right_function = right_file = False
    if first:
        right_file = any(first[1] == path for path, _ in task.places)
        right = any(
            first[1] == path and int(first[2] or 0) <= line <= int(first[3] or first[2] or 0)
            for path, part in task.places
            for line in lines_with(folder / path, part)
        )
        printed = first[0].split("  ")[1] if "  " in first[0] else ""
        right_function = right or (right_file and is_function_of(printed, first[1], task))
    shown = first[0].split("  ")[0] if first else "-"
    return Row(task, shown, right, right_function, right_file, seconds, keys, len(lines))


def is_function_of(printed: str, path: str, task: Task) -> bool:
    """Return True if a printed symbol is the function that a place of the file begins."""
    name = re.escape(printed.rpartition(".")[2])
    begins = re.compile(rf"\b{name}[(<]")
    return bool(name) and any(begins.search(part) for file, part in task.places if file == path)


def lines_with(file: Path, part: str) -> list[int]:
    """Return the lines of a file with a part of their text. Raise ValueError if none has it."""
    text = file.read_text("utf-8", "replace").splitlines()
    found = [number for number, line in enumerate(text, 1) if part in line]
    if not found:
        raise ValueError(f"no line of {file} has {part!r}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", nargs="+", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--command", default="", help="a command and its options")
    parser.add_argument("--keep-index", action="store_true")
    parser.add_argument("--checkout", type=Path, help="run this checkout of Winnow")
    options = parser.parse_args()
    command = shlex.split(options.command)
    checkout = options.checkout and options.checkout.resolve()
    rows = []
    print(
        f"{'right':6}{'name':6}{'file':6}{'time':>7}{'keys':>6}{'lines':>7}  question: first result"
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for corpus in dict.fromkeys(task.corpus for task in TASKS):
            source = next(place for place in options.corpora if (place / corpus).is_dir())
            folder = Path(name) / corpus
            shutil.copytree(
                source / corpus, folder, symlinks=True, ignore=shutil.ignore_patterns(".winnow")
            )
            for task in (task for task in TASKS if task.corpus == corpus):
                if not options.keep_index:
                    shutil.rmtree(folder / ".winnow", ignore_errors=True)
                row = run(task, folder, command, checkout)
                rows.append(row)
                marks = ["yes" if good else "no" for good in row[2:5]]
                print(
                    f"{marks[0]:6}{marks[1]:6}{marks[2]:6}{row.seconds:6.1f}s{row.keys:6}{row.lines:7}"
                    f"  {task.question[:60]}: {row.first}",
                    flush=True,
                )
            shutil.rmtree(folder, ignore_errors=True)  # the background process may still write
    count = len(rows)
    for title, good in (
        ("place", [row.is_right for row in rows]),
        ("place or function", [row.is_in_function for row in rows]),
        ("file", [row.is_right_file for row in rows]),
    ):
        print(f"right {title} first: {sum(good)} of {count} ({sum(good) / count:.0%})")
    print(f"median time: {statistics.median(row.seconds for row in rows):.1f} s")
    django = max(row.seconds for row in rows if row.task.corpus == DJANGO)
    print(f"longest time on Django: {django:.1f} s")
    print(f"mean keys: {statistics.mean(row.keys for row in rows):.0f}")
    print(f"mean lines: {statistics.mean(row.lines for row in rows):.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
