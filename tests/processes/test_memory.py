"""Memory and processor time of processes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from waiting_for import wait_until
from winnow.processes.memory import anonymous_bytes, wants_processor

# Each thread has 60 MB for a moment, and keeps the last piece of it. Where each has an arena of its
# own, it keeps the rest, too: 104 MB together.
THREADS = """
import os, threading
from winnow.processes.memory import anonymous_bytes, return_freed_memory

def work(done):
    some = [bytes(20_000) for _ in range(3_000)]
    kept.append(some.pop())
    some.clear()
    done.set()
    end.wait()

return_freed_memory()
kept, end = [], threading.Event()
for _ in range(4):
    done = threading.Event()
    threading.Thread(target=work, args=(done,)).start()
    done.wait()
print(anonymous_bytes(os.getpid()))
end.set()
"""


@pytest.mark.process
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_memory_freed_in_a_thread_returns_to_the_system() -> None:
    done = subprocess.run(
        [sys.executable, "-c", THREADS],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 60e6 < int(done.stdout) < 85e6


def test_the_anonymous_memory_of_a_process_is_measured() -> None:
    before = anonymous_bytes(os.getpid())
    kept = bytearray(os.urandom(50_000_000))
    assert 45e6 < anonymous_bytes(os.getpid()) - before < 120e6
    assert len(kept) == 50_000_000
    assert anonymous_bytes(2**22 + 1) == 0


BUSY = """
import sys, threading, time
if sys.argv[1] == "thread":
    def work():
        while True: pass
    threading.Thread(target=work, daemon=True).start()
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.process
@pytest.mark.parametrize(("threads", "expected"), [("none", False), ("thread", True)])
def test_a_process_wants_a_processor_if_one_of_its_threads_does(
    threads: str, expected: bool
) -> None:
    """A worker whose main thread waited for another thread to start seemed to hang (#22)."""
    with subprocess.Popen(
        [sys.executable, "-c", BUSY, threads], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        # Wait until its main thread reads: the two may pass the GIL on between two checks.
        wait_until(lambda: all(wants_processor(child.pid) == expected for _ in range(20)))
        child.kill()
    assert not wants_processor(child.pid)
