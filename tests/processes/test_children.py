"""Children: output, limits, deadlines and cleanup."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from conftest import alive, requires_posix
from waiting_for import SECONDS
from winnow.errors import SearchFailed
from winnow.processes.children import STDERR_BYTES, Child, Processes

pytestmark = pytest.mark.process

HERE = Path(__file__).parent


def python(processes: Processes, code: str, seconds: float = 20) -> Child:
    deadline = asyncio.get_running_loop().time() + seconds
    return processes.start([sys.executable, "-c", code], cwd=HERE, deadline=deadline)


async def records(child: Child, max_bytes: int = 100) -> list[bytes]:
    return [record async for record in child.records(b"\n", max_bytes)]


async def test_output_is_split_into_records_before_the_exit_code() -> None:
    async with python(Processes(), "print('a'); print('b' * 99); exit(3)") as child:
        assert await records(child) == [b"a", b"b" * 99]
        assert await child.wait() == 3
        assert not child.timed_out


async def test_long_records_are_dropped_and_counted() -> None:
    code = "print('a'); print('b' * 1_000_000); print('c'); print('d', end='')"
    async with python(Processes(), code) as child:
        assert await records(child) == [b"a", b"c"]
        assert child.dropped == [b"b" * 64]


async def test_stderr_is_drained_and_capped() -> None:
    code = "import sys; sys.stderr.write('x' * 1_000_000); print('done')"
    async with python(Processes(), code) as child:
        assert await records(child) == [b"done"]
        await child.wait()
        assert child.stderr == "x" * STDERR_BYTES


async def test_the_deadline_kills_a_child_and_keeps_its_output() -> None:
    started = time.monotonic()
    code = "import time; print('first', flush=True); time.sleep(600)"
    # Enough time for Python to start on a busy machine.
    async with python(Processes(), code, seconds=3.0) as child:
        assert await records(child) == [b"first"]
        assert child.timed_out
    assert time.monotonic() - started < 60  # far from the child's 600


async def test_a_child_has_no_standard_input() -> None:
    async with python(Processes(), "import sys; print(repr(sys.stdin.read()))") as child:
        assert await records(child) == [b"''"]


ECHO = (
    "import sys\n"
    "while length := sys.stdin.buffer.read(4):\n"
    "    text = sys.stdin.buffer.read(int.from_bytes(length, 'little'))\n"
    "    sys.stdout.buffer.write(length + text[::-1])\n"
    "    sys.stdout.buffer.flush()\n"
)


async def test_a_worker_answers_messages_until_its_block_ends() -> None:
    processes = Processes(limit=1)
    command = [sys.executable, "-c", ECHO]
    async with processes.start_worker(command, cwd=HERE) as child, python(processes, "") as other:
        # Both directions at once, with more data than a pipe holds.
        messages = [b"", b"abc", b"x" * 1_000_000 + b"y", b"last"]
        for message in messages:
            child.send(message)
        assert [await child.receive() for _ in messages] == [one[::-1] for one in messages]
        assert await other.wait() == 0  # it had a slot besides the first
        child.kill()
        with pytest.raises(EOFError):
            await child.receive()
    assert not alive(child.pid)


async def test_messages_to_a_worker_that_has_exited_are_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Processes().start_worker([sys.executable, "-c", ""], cwd=HERE) as child:
        with pytest.raises(EOFError):
            await child.receive()
        for _ in range(20):
            child.send(b"x")
            await asyncio.sleep(0.01)
    assert not caplog.records


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
async def test_a_worker_has_its_own_memory_limit() -> None:
    code = "try: bytearray(100 * 1024**2)\nexcept MemoryError: print('no', end='')"
    command = [sys.executable, "-c", f"import sys; sys.stdin.read(4)\n{code}"]
    async with Processes().start_worker(command, cwd=HERE, memory_bytes=64 * 1024**2) as child:
        child.send(b"")
        assert [chunk async for chunk in child.chunks()] == [b"no"]


@requires_posix
async def test_leaving_the_block_kills_the_process_group() -> None:
    code = (
        "import subprocess, time; child = subprocess.Popen(['sleep', '600']);"
        "print(child.pid, flush=True); print('x' * 1_000_000, flush=True); time.sleep(600)"
    )
    processes = Processes()
    async with python(processes, code) as child:
        async for record in child.records(b"\n", 100):
            grandchild = int(record)
            break
        started = time.monotonic()
    assert time.monotonic() - started < 60  # far from their 600
    assert not alive(child.pid)
    while alive(grandchild):
        assert time.monotonic() - started < 60
        await asyncio.sleep(0.01)
    assert processes._alive == set()


async def test_closing_kills_a_starting_child() -> None:
    processes = Processes()
    async with python(processes, "import time; time.sleep(60)") as running:
        processes.close()
        await asyncio.wait_for(running.wait(), 10)  # before the deadline kills it
    async with python(processes, "import time; time.sleep(60)") as late:
        await asyncio.wait_for(late.wait(), 10)


async def test_a_child_that_starts_while_others_are_killed_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server must not exit before this child can be killed."""
    create, created, may_return = asyncio.create_subprocess_exec, asyncio.Event(), asyncio.Event()

    async def create_slowly(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await create(*arguments, **options)
        created.set()
        await may_return.wait()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", create_slowly)
    processes, states = Processes(), []

    async def run() -> None:
        async with python(processes, "import time; time.sleep(600)") as child:
            states.append(processes.is_starting)
            await child.wait()

    running = asyncio.create_task(run())
    await created.wait()
    processes.close()
    states.append(processes.is_starting)
    may_return.set()
    await asyncio.wait_for(running, SECONDS)
    assert states == [True, False]


@requires_posix
async def test_cancellation_while_a_child_starts_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, started = asyncio.create_subprocess_exec, asyncio.Event()

    async def create_slowly(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await create(*arguments, **options)
        while not pids.exists() or not pids.read_text().endswith("\n"):
            await asyncio.sleep(0.01)
        started.set()
        await asyncio.sleep(0.1)
        return process

    pids = tmp_path / "pids"
    monkeypatch.setattr(asyncio, "create_subprocess_exec", create_slowly)
    processes = Processes()
    command = ["/bin/sh", "-c", f"sleep 60 & echo $! $$ > {pids}; wait"]
    deadline = asyncio.get_running_loop().time() + 20
    child = processes.start(command, cwd=HERE, deadline=deadline)
    entering = asyncio.create_task(child.__aenter__())
    await started.wait()
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    for pid in map(int, pids.read_text().split()):
        while alive(pid):
            await asyncio.sleep(0.01)
    assert not processes._alive


async def test_no_more_children_than_the_limit_run_at_once() -> None:
    processes = Processes(limit=2)
    most = 0

    async def one() -> None:
        nonlocal most
        async with python(processes, "import time; time.sleep(0.1)") as child:
            most = max(most, len(processes._alive))
            await child.wait()

    await asyncio.gather(*(one() for _ in range(5)))
    assert most == 2


async def test_a_program_that_cannot_be_started_is_an_error_without_its_folder() -> None:
    deadline = asyncio.get_running_loop().time() + 5
    with pytest.raises(SearchFailed) as failed:
        async with Processes(limit=1).start(["/no/such/rg"], cwd=HERE, deadline=deadline):
            pass
    assert "/no/such" not in failed.value.message
    assert failed.value.data["exit_code"] == 127


async def test_a_pipeline_passes_output_on_and_ends_with_its_last_program(tmp_path: Path) -> None:
    processes = Processes(limit=1)
    write = [sys.executable, "-c", "import sys\nwhile True: print('line')"]
    first = [sys.executable, "-c", "print(input(), 'read')"]
    deadline = asyncio.get_running_loop().time() + 20
    async with processes.pipeline([write, first], cwd=tmp_path, deadline=deadline) as children:
        output = b"".join([chunk async for chunk in children[-1].chunks()])
        assert await children[-1].wait() == 0
        # Its reader has exited.
        assert await children[0].wait() != 0
    assert output == b"line read\n"
    before = set(os.listdir("/proc/self/fd")) if sys.platform == "linux" else set()
    for _ in range(3):
        async with processes.pipeline([write, write, first], cwd=tmp_path, deadline=deadline):
            pass
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/fd")) <= len(before)


async def test_a_pipeline_with_a_missing_program_leaves_nothing_behind(tmp_path: Path) -> None:
    processes = Processes(limit=1)
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    deadline = asyncio.get_running_loop().time() + 20
    for commands in ([sleep, ["/no/such/program"]], [["/no/such/program"], sleep]):
        with pytest.raises(SearchFailed):
            async with processes.pipeline(commands, cwd=tmp_path, deadline=deadline):
                pass
    assert not processes._alive


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux only")
async def test_a_child_cannot_use_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 100 * 1024 * 1024
    monkeypatch.setattr("winnow.processes.children.MEMORY_BYTES", limit)
    # The limit is set while the child already runs.
    code = (
        "import resource, time\n"
        f"while resource.getrlimit(resource.RLIMIT_DATA)[0] != {limit}: time.sleep(0.01)\n"
        "try: bytearray(300_000_000)\n"
        "except MemoryError: print(1)"
    )
    async with python(Processes(), code) as child:
        assert await records(child) == [b"1"]


async def test_a_log_parser_removes_its_lines_from_stderr(tmp_path: Path) -> None:
    class Known:
        taken: ClassVar[list[bytes]] = []

        def parse(self, line: bytes) -> bool:
            if line.startswith(b"note"):
                self.taken.append(line)
                return True
            return False

    program = "import sys; sys.stderr.write('note 1\\nwrong\\nnote 2\\nlast')"
    deadline = asyncio.get_running_loop().time() + 20
    async with Processes().start(
        [sys.executable, "-c", program], cwd=tmp_path, deadline=deadline, log_parser=Known()
    ) as child:
        await child.wait()
    assert Known.taken == [b"note 1", b"note 2"]
    assert child.stderr == "wrong\nlast"


@pytest.mark.parametrize("program", ["rg", "./rg", "bin/rg", ""])
async def test_a_program_without_an_absolute_path_is_not_started(program: str) -> None:
    """The system would search folders of the workspace for it (#21)."""
    with pytest.raises(ValueError, match="not an absolute path"):
        Processes().start([program], cwd=HERE, deadline=0)
