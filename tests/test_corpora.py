"""The source trees for tests can be downloaded on a new machine (#21)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))
import corpora  # noqa: E402

NOBODY = 65534  # the numeric id of a user that owns no files
# A fake `apt-get` that records its arguments and fails to download.
FAKE_APT_GET = """\
#!{python}
import os, sys
with open({log!r}, "a") as log:
    print(*sys.argv[1:], file=log)
sys.exit(sys.argv[1] == "source")
"""


def may_delete_files_of_others() -> bool:
    """Return True if this process isn't root, or if it may ignore permissions as root."""
    if not hasattr(os, "geteuid") or os.geteuid():
        return True
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective.split()[1], 16) & 0b110)  # DAC_OVERRIDE, DAC_READ_SEARCH


@pytest.mark.skipif(may_delete_files_of_others(), reason="needs root without DAC_OVERRIDE")
def test_another_users_folder_in_the_temporary_folder_does_not_fail_the_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(corpora, "CORPORA", tmp_path / "corpora")
    temporary: list[Path] = []

    def fetch(folder: Path) -> Path:
        temporary.append(folder)
        partial = folder / "source/partial"
        partial.mkdir(parents=True)
        (partial / "Sources").write_text("x")
        partial.chmod(0o700)
        os.chown(partial, NOBODY, -1)
        (folder / "tree").mkdir()
        (folder / "tree/main.c").write_text("int main;")
        return folder / "tree"

    tree = corpora._tree("redis", fetch)
    os.chown(temporary[0] / "source/partial", 0, -1)  # pytest deletes it later
    assert (tree / "main.c").read_text() == "int main;"
    assert str(temporary[0]) in capsys.readouterr().err


def test_apt_downloads_as_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    program = tmp_path / "bin/apt-get"
    program.parent.mkdir()
    program.write_text(FAKE_APT_GET.format(python=sys.executable, log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setattr(corpora, "CORPORA", tmp_path / "corpora")
    with pytest.raises(subprocess.CalledProcessError):
        corpora.redis()
    downloads = [line for line in log.read_text().splitlines() if "indextargets" not in line]
    assert {line.split()[0] for line in downloads} == {"update", "source"}
    assert all("-o APT::Sandbox::User=root" in line for line in downloads)
    assert not list((tmp_path / "corpora").iterdir())


def test_a_failed_download_sets_the_exit_code_and_does_not_stop_other_downloads(
    tmp_path: Path,
) -> None:
    (tmp_path / "redis").mkdir()  # as if downloaded before
    environment = {**os.environ, "WINNOW_CORPORA": str(tmp_path), "PATH": "/nowhere"}
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / "corpora.py"), "rxjs", "redis"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert run.returncode == 1
    assert "Cannot download rxjs" in run.stderr
    assert str(tmp_path / "redis") in run.stdout
