"""Workers: their answers, their failures, and how they end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from conftest import alive, requires_posix, write_files
from index.conftest import MakeWorkers, extracted, jobs, outcome
from waiting_for import until
from winnow.errors import SearchFailed
from winnow.index.builder import workers as module
from winnow.index.builder.extraction import extract_file
from winnow.index.postings.trigrams import trigrams_of
from winnow.index.store.file_record import NOT_SOURCE, IndexJob
from winnow.processes import workers as workers_of_all_kinds
from winnow.processes.children import Child, Processes


async def outcomes(workers: module.IndexWorkers, wanted: list[IndexJob]) -> dict[str, str]:
    found = await extracted(workers, wanted)
    return {path: outcome(record) for path, record in found.items()}


async def test_symbols_are_extracted_from_any_encoding(
    make_workers: MakeWorkers, tmp_path: Path
) -> None:
    text = "def grüße():\n    pass\n"
    files = {
        "plain.py": text.encode(),
        "marked.py": b"\xef\xbb\xbf" + text.encode(),
        "wide.py": text.encode("utf-16"),
        "latin.py": text.encode("latin-1"),
        "script": b"#!/usr/bin/env python3\n" + text.encode(),
        "picture.py": b"\x89PNG\r\n\x1a\n\0\0",
        "LICENSE": b"None",
    }
    for name, raw in files.items():
        (tmp_path / name).write_bytes(raw)
    found = await extracted(make_workers(shared=True), jobs(tmp_path, *files, "gone.py"))
    assert {path: outcome(record) for path, record in found.items()} == {
        "plain.py": "grüße",
        "marked.py": "grüße",
        "wide.py": "grüße",
        "latin.py": "grüße",
        "script": "grüße",
        "picture.py": "it is a PNG image",
        "LICENSE": "its language is unknown",
        "gone.py": "gone",
    }
    plain, marked = found["plain.py"], found["marked.py"]
    assert plain is not None
    assert marked is not None
    # Offsets are those of the text in UTF-8, without a byte order mark.
    assert plain.symbols == marked.symbols
    assert (plain.language, plain.state.size) == ("python", len(files["plain.py"]))


async def test_a_job_may_bring_its_text(make_workers: MakeWorkers, tmp_path: Path) -> None:
    job = IndexJob(os.fsencode(tmp_path), b"not/there.py", 100, b"def unsaved(): pass\n" * 100)
    found = await extracted(make_workers(shared=True), [job])
    assert outcome(found["not/there.py"]).split() == ["unsaved"] * 100


@requires_posix
async def test_odd_files_do_not_block_a_worker(make_workers: MakeWorkers, tmp_path: Path) -> None:
    root = write_files(tmp_path / "root", {"a.py": "def a(): pass\n"})
    write_files(tmp_path, {"outside.py": "def secret(): pass\n"})
    os.mkfifo(root / "fifo.py")
    (root / "folder.py").mkdir()
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (root / "device.py").symlink_to("/dev/zero")
    (root / os.fsdecode(b"\xff\xfe.py")).write_text("def strange(): pass\n")
    names = ["fifo.py", "folder.py", "link.py", "device.py", os.fsdecode(b"\xff\xfe.py"), "a.py"]
    assert await outcomes(make_workers(shared=True), jobs(root, *names)) == {
        "fifo.py": "it cannot be read",
        "folder.py": "it cannot be read",
        "link.py": "gone",
        "device.py": "it cannot be read",
        os.fsdecode(b"\xff\xfe.py"): "strange",
        "a.py": "a",
    }


async def test_generated_files_are_not_parsed(make_workers: MakeWorkers, tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "large.py": "x = 1\n" * (50 * 1024 * 1024 // 6),
            "line.py": "x = [" + "1, " * 700_000 + "]\n",
            "some_lines.py": "x = 1\n" * 100_000 + "y = '" + "z" * 300_000 + "'\n",
        },
    )
    assert await outcomes(
        make_workers(shared=True), jobs(tmp_path, "large.py", "line.py", "some_lines.py")
    ) == {
        "large.py": "it is larger than 4,194,304 bytes",
        "line.py": "it is minified or generated: 1,050,003 bytes a line",
        "some_lines.py": "it is minified or generated: it has a line of 300,006 bytes",
    }


def test_of_large_tables_only_trigrams_are_indexed() -> None:
    """The vectors of a table of 2.7 MB with 128,000 keys took longer than the limit for a file."""
    rows = "".join(f'"key{number}": {number},\n' for number in range(70_000))
    table = "{\n" + rows + '"last": 0}\n'
    found = {}
    for name in ("table.json", "words.bpe", "program.js"):
        text = table if name != "program.js" else f"x = {table}"
        record = extract_file(IndexJob(b"", name.encode(), 10**7, text.encode()))
        assert record is not None
        assert record.contents is not None
        found[name] = record.state.problem, len(record.contents.chunks) > 0
        assert record.contents.trigrams == trigrams_of(text.encode())
    size = f"it is a table or a long text: {len(table):,} bytes"
    assert found == {
        "table.json": (size, False),
        "words.bpe": (NOT_SOURCE, False),
        "program.js": ("", True),
    }


def test_of_lock_files_only_trigrams_are_indexed() -> None:
    text = b'{\n"dependencies": {"lodash": "4.17.21"}\n}\n'
    found = []
    for name in ("package.json", "my-package-lock.json", "web/package-lock.json"):
        record = extract_file(IndexJob(b"", name.encode(), 10**7, text))
        assert record is not None
        assert record.contents is not None
        assert record.contents.trigrams == trigrams_of(text)
        has_words = len(record.contents.chunks) > 0
        found.append((record.state.problem, has_words, record.symbols is not None))
    assert found == [*[("", True, True)] * 2, (NOT_SOURCE, False, False)]


# The deepest takes the parser a quarter of a minute.
@pytest.mark.parametrize("depth", [30_000, pytest.param(100_000, marks=pytest.mark.long)])
async def test_deeply_nested_brackets_are_parsed_or_reported(
    make_workers: MakeWorkers, tmp_path: Path, depth: int
) -> None:
    rows = depth // 100
    nested = ("(" * 100 + "\n") * rows + "1" + (")" * 100 + "\n") * rows
    write_files(tmp_path, {"deep.py": f"x = {nested}", "after.py": "def after(): pass\n"})
    found = await outcomes(make_workers(shared=True), jobs(tmp_path, "deep.py", "after.py"))
    assert found["after.py"] == "after"
    assert found["deep.py"]  # its names or a problem: an answer


@pytest.mark.slow
async def test_a_grammar_that_never_returns_costs_one_file(
    make_workers: MakeWorkers, tmp_path: Path
) -> None:
    names = [f"file{number}.py" for number in range(30)]
    write_files(tmp_path, {"hang.cob": "x\n"} | dict.fromkeys(names, "def f(): pass\n"))
    found = await outcomes(
        make_workers(seconds=1.0), jobs(tmp_path, *names[:5], "hang.cob", *names[5:])
    )
    assert found == {"hang.cob": "it took longer than 1 s"} | dict.fromkeys(names, "f")


@pytest.mark.parametrize(
    ("waits", "used", "killed_after"),
    [
        ([True, True], [0.0, 0.0, 0.0], 2),
        ([True, False, True, True], [0.0, 0.0, 0.0, 0.0, 0.0], 4),
        ([True, True, True], [0.0, 0.001, 0.002, 0.002], 3),
        ([False], [0.0, 0.0199], 1),
    ],
)
async def test_a_briefly_waiting_worker_does_not_count_as_hanging(
    monkeypatch: pytest.MonkeyPatch, waits: list[bool], used: list[float], killed_after: int
) -> None:
    """A worker that had just answered, or whose thread had not started yet, was killed, and its
    file was reported as too slow (#22)."""
    looks, uses = iter(waits), iter(used)
    monkeypatch.setattr(workers_of_all_kinds, "wants_processor", lambda _: not next(looks))
    monkeypatch.setattr(workers_of_all_kinds, "processor_seconds", lambda _: next(uses))
    # A busy machine delays the checks; that must not end the worker.
    monkeypatch.setattr(workers_of_all_kinds, "WAITING", 10_000)
    killed = asyncio.Event()
    child = cast("Child", SimpleNamespace(pid=1, kill=killed.set))
    patience = workers_of_all_kinds._Patience(child, 0.02)
    await asyncio.wait_for(killed.wait(), 60)
    assert patience.is_over
    assert len(waits) - len(list(looks)) == killed_after


async def test_the_processor_time_of_a_short_job_is_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = asyncio.Event()

    def measure(_: int) -> float:
        measured.set()
        return 0.0

    monkeypatch.setattr(workers_of_all_kinds, "processor_seconds", measure)
    child = cast("Child", SimpleNamespace(pid=1))
    workers_of_all_kinds._Patience(child, 60).close()
    assert not measured.is_set()
    patience = workers_of_all_kinds._Patience(child, 60)
    await asyncio.wait_for(measured.wait(), 60)
    patience.close()


@pytest.mark.process
@requires_posix
async def test_a_parser_that_crashes_costs_one_file(
    make_workers: MakeWorkers, tmp_path: Path
) -> None:
    text = "def f(): pass\n"
    names = ["a.py", "b.segfault", "c.greedy", "d.deep", "e.py"]
    write_files(tmp_path, dict.fromkeys(names, text))
    assert await outcomes(make_workers(), jobs(tmp_path, *names)) == {
        "a.py": "f",
        "b.segfault": "its parser has crashed",
        "c.greedy": "its symbols cannot be extracted: MemoryError",
        "d.deep": "its symbols cannot be extracted: RecursionError",
        "e.py": "f",
    }


@pytest.mark.slow
@requires_posix
async def test_a_killed_worker_loses_no_file(
    make_workers: MakeWorkers, processes: Processes, tmp_path: Path
) -> None:
    names = [f"file{number}.py" for number in range(200)]
    write_files(tmp_path, dict.fromkeys(names, "def f(): pass\n" * 50))
    found = {}
    killed = set()
    async for job, record in make_workers().extract(jobs(tmp_path, *names)):
        found[os.fsdecode(job.path)] = outcome(record)
        if len(found) in (20, 90):
            (child,) = processes._alive
            killed.add(child.pid)
            os.kill(child.pid, signal.SIGKILL)
    assert found == dict.fromkeys(names, " ".join(["f"] * 50))
    assert len(killed) == 2


@pytest.mark.process
async def test_a_request_does_not_wait_for_the_background(
    make_workers: MakeWorkers, tmp_path: Path
) -> None:
    names = [f"hang{number}.cob" for number in range(3)]
    write_files(tmp_path, {"now.py": "def now(): pass\n"} | dict.fromkeys(names, "x\n"))
    workers = make_workers(seconds=60)
    background = asyncio.create_task(extracted(workers, jobs(tmp_path, *names)))
    await until(lambda: workers._in_background)
    found = await extracted(workers, jobs(tmp_path, "now.py"), urgent=True)
    assert outcome(found["now.py"]) == "now"
    assert not background.done()
    background.cancel()
    await asyncio.gather(background, return_exceptions=True)


@pytest.mark.slow
async def test_a_request_does_not_wait_for_the_whole_batch_of_the_background(
    make_workers: MakeWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"f{number}.py" for number in range(module.BATCH)]
    write_files(tmp_path, {"now.py": "def now(): pass\n"} | dict.fromkeys(names, "x = 1\n" * 2_000))
    workers = make_workers()
    answered: list[str] = []

    async def request() -> None:
        await extracted(workers, jobs(tmp_path, "now.py"), urgent=True)
        answered.append("now.py")

    @contextlib.asynccontextmanager
    async def never(self: module.IndexWorkers) -> AsyncIterator[Child]:
        await asyncio.Event().wait()
        yield Child.__new__(Child)

    async for job, _ in workers.extract(jobs(tmp_path, *names)):
        answered.append(os.fsdecode(job.path))
        if len(answered) == 1:
            monkeypatch.setattr(module.IndexWorkers, "_started", never)
            requested = asyncio.create_task(request())
    await requested
    assert sorted(answered) == [*names, "now.py"]
    # Before it: the first file, two that the worker has already, and one that it may get while the
    # request begins.
    assert answered.index("now.py") <= 4


@pytest.mark.process
@requires_posix
@pytest.mark.parametrize("dies", [False, True])
async def test_a_new_worker_without_work_compiles_the_queries_of_the_last_request(
    make_workers: MakeWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    write_files(tmp_path, {"a.py": "def a(): pass\n"})
    sent: list[IndexJob] = []
    send = Child.send

    def noted(self: Child, message: bytes) -> None:
        sent.append(msgspec.msgpack.decode(message, type=IndexJob))
        if dies and len(sent) == 2:
            os.kill(self.pid, signal.SIGKILL)
        send(self, message)

    monkeypatch.setattr(Child, "send", noted)
    workers = make_workers(limit=2)
    (job,) = jobs(tmp_path, "a.py")
    assert outcome((await extracted(workers, [job], urgent=True))["a.py"]) == "a"
    first = set(workers.pids)
    workers._start_workers(2, 2)
    await until(lambda: len(sent) == 2 and workers._free == 2 and len(workers.pids) == 2)
    assert first < set(workers.pids)
    assert sent[1] == msgspec.structs.replace(job, text=b"\n")
    both = await extracted(workers, jobs(tmp_path, *["a.py"] * (2 * module.BATCH)))
    assert outcome(both["a.py"]) == "a"
    assert len(workers.pids) == 2


def test_a_new_worker_is_prepared_for_more_than_the_part_of_the_last_job() -> None:
    job = IndexJob(b"/folder", b"a.py", 1000, part="occurrences", names=("plugin",))
    assert module.empty_file(job) == IndexJob(b"/folder", b"a.py", 1000, b"\n", part="all")


@pytest.mark.process
async def test_an_idle_worker_ends_and_another_starts(
    make_workers: MakeWorkers, tmp_path: Path, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_of_all_kinds, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(module, "KEEP_SECONDS", 0.1)
    write_files(tmp_path, {"a.py": "def a(): pass\n"})
    workers = make_workers()
    for _ in range(2):
        assert await outcomes(workers, jobs(tmp_path, "a.py")) == {"a.py": "a"}
        while processes._alive:
            await asyncio.sleep(0.01)


@pytest.mark.process
async def test_the_last_idle_worker_is_kept(
    make_workers: MakeWorkers, tmp_path: Path, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_of_all_kinds, "IDLE_SECONDS", 0.1)
    begun: list[Child] = []
    start_worker = processes.start_worker

    def noted(*arguments: Any, **more: Any) -> Child:
        begun.append(start_worker(*arguments, **more))
        return begun[-1]

    monkeypatch.setattr(processes, "start_worker", noted)
    names = [f"{number}.py" for number in range(2 * module.BATCH)]
    write_files(tmp_path, dict.fromkeys(names, "def a(): pass\n"))
    workers = make_workers(limit=2)
    assert len(await outcomes(workers, jobs(tmp_path, *names))) == len(names)
    assert len(begun) == 2
    await until(lambda: len(workers._running) == len(workers.pids) == 1)
    (kept,) = workers.pids
    await asyncio.sleep(0.5)
    assert workers.pids == [kept]
    assert await outcomes(workers, jobs(tmp_path, "0.py")) == {"0.py": "a"}
    assert workers.pids == [kept]


@pytest.mark.process
async def test_workers_that_cannot_start_raise_an_error(
    processes: Processes, tmp_path: Path
) -> None:
    broken = write_files(tmp_path, {"tree_sitter.py": "raise ImportError('broken')\n"})
    environment = {**os.environ, "PYTHONPATH": str(broken)}
    workers = module.IndexWorkers(processes, environment)
    with pytest.raises(SearchFailed, match="broken"):
        await extracted(workers, jobs(tmp_path, "tree_sitter.py"))
    await workers.aclose()


@pytest.mark.slow
@requires_posix
async def test_a_worker_ends_with_the_server_even_while_it_hangs(tmp_path: Path) -> None:
    from index.conftest import environment_with_languages

    write_files(tmp_path, {"hang.cob": "x\n", "a.py": "def a(): pass\n"})
    code = (
        "import asyncio, os, sys\n"
        "from winnow.index.builder.workers import IndexWorkers\n"
        "from winnow.index.store.file_record import IndexJob\n"
        "from winnow.processes.children import Processes\n"
        "async def main():\n"
        "    processes = Processes()\n"
        "    workers = IndexWorkers(processes, dict(os.environ), 0.3)\n"
        "    workers.start()\n"
        "    while not workers.pids:\n"
        "        await asyncio.sleep(0.01)\n"
        # The worker has its own time limit: the server, which would end it, is more patient with
        # the files before the one that hangs.
        "    workers._seconds = 20.0\n"
        "    job = lambda name: IndexJob(sys.argv[1].encode(), name, 1000)\n"
        "    async for _ in workers.extract([job(b'a.py'), job(b'hang.cob')]):\n"
        "        print(*[child.pid for child in processes._alive], flush=True)\n"
        "asyncio.run(main())\n"
    )
    server = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", code, str(tmp_path)],
        stdout=subprocess.PIPE,
        env=environment_with_languages(tmp_path / "python"),
    )
    assert server.stdout is not None
    with server:
        worker = int(server.stdout.readline())
        server.kill()
    await until(lambda: not alive(worker))


@pytest.mark.slow
async def test_work_does_not_wait_for_a_starting_worker(
    make_workers: MakeWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"f{number}.py" for number in range(24)]
    write_files(tmp_path, {"now.py": "def now(): pass\n"} | dict.fromkeys(names, "x = 1\n" * 2_000))
    workers = make_workers()
    background = asyncio.create_task(extracted(workers, jobs(tmp_path, *names)))
    while not workers._in_background:
        await asyncio.sleep(0)
    starting = asyncio.Event()

    @contextlib.asynccontextmanager
    async def never(self: module.IndexWorkers) -> AsyncIterator[Child]:
        starting.set()
        await asyncio.Event().wait()
        yield Child.__new__(Child)

    monkeypatch.setattr(module.IndexWorkers, "_started", never)
    found = await extracted(workers, jobs(tmp_path, "now.py"), urgent=True)
    assert outcome(found["now.py"]) == "now"
    assert starting.is_set()
    assert len(await background) == len(names)


@pytest.mark.process
async def test_a_worker_starts_before_its_work(
    make_workers: MakeWorkers, tmp_path: Path, processes: Processes
) -> None:
    write_files(tmp_path, {"a.py": "def a(): pass\n"})
    workers = make_workers(limit=2)
    workers.start()
    workers.start()
    while not processes._alive:
        await asyncio.sleep(0.01)
    (started,) = processes._alive
    assert outcome((await extracted(workers, jobs(tmp_path, "a.py"), urgent=True))["a.py"]) == "a"
    assert processes._alive == {started}


@pytest.mark.parametrize(("cores", "expected"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 4), (64, 4)])
def test_the_number_of_workers_depends_on_the_cores(cores: int, expected: int) -> None:
    assert workers_of_all_kinds.workers_for(cores) == expected
