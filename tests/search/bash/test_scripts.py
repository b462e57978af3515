"""sed, awk and sort in a pipeline: what people write works, and nothing that writes, runs or opens
a file does."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import MakeWorkspace, requires_posix, write_files
from search.bash.test_bash import ON, bash, user_environment
from winnow.errors import NotAllowed
from winnow.processes import sandbox
from winnow.search.bash.scripts import check_awk, check_sed
from winnow.workspace import EngineWorkspace

pytestmark = requires_posix
requires_sandbox = pytest.mark.skipif(
    sys.platform != "linux" or not sandbox.is_available(), reason="the kernel has no sandbox"
)
LINES = "pear 3\napple 1\napple 1\nfig 2\n"


@pytest.fixture
def workspace(project: Path, tmp_path: Path, make_workspace: MakeWorkspace) -> EngineWorkspace:
    write_files(tmp_path / "outside", {"secret.txt": "outside-secret-0123\n"})
    write_files(project, {"fruits": LINES, "others": "apple 1\nplum 4\n", "x=1": "odd\n"})
    return make_workspace(project, config=ON, environment=user_environment(tmp_path))


@requires_sandbox
@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sort fruits", "apple 1\napple 1\nfig 2\npear 3\n"),
        ("sort -k2 -nr fruits | head -1", "pear 3\n"),
        ("sort fruits | uniq -c | tr -s ' ' | cut -d ' ' -f 2,3", "2 apple\n1 fig\n1 pear\n"),
        ("rg -c apple fruits others | sort", "fruits:2\nothers:1\n"),
        ("sort -u fruits | comm -12 - others", "apple 1\n"),
        ("cut -d' ' -f1 fruits | tr a-z A-Z | sort -u", "APPLE\nFIG\nPEAR\n"),
        ("nl -w 1 fruits | head -1", "1\tpear 3\n"),
        ("tr -d -- -x fruits", ""),
        ("sed -n 2,3p fruits", "apple 1\napple 1\n"),
        ("sed -n '/fig/p' fruits", "fig 2\n"),
        ("sed 's/apple/APPLE/g; 3,$d' fruits", "pear 3\nAPPLE 1\n"),
        ("sed -E -e 's,([a-z]+) ([0-9]),\\2 \\1,' -e 1q fruits", "3 pear\n"),
        ("sed -n '$=' fruits", "4\n"),
        ("awk '{print $1}' fruits", "pear\napple\napple\nfig\n"),
        ("awk '1 < $2 && NR < 4 {n += $2} END {print n}' fruits", "3\n"),
        ("awk -F e -v x=y 'NR == 1 || NR == 4 {print x, $1}' fruits", "y p\ny fig 2\n"),
        ("awk '{print}' x=1", "odd\n"),
    ],
)
async def test_pipelines_that_people_type(
    line: str, expected: str, workspace: EngineWorkspace
) -> None:
    if line.startswith("tr"):  # its operands are sets, and it reads the pipe
        line = "cat fruits | tr -d -- a-z' '0-9 | tr -d '\\n'"
    result = await bash(workspace, line)
    assert (result.stdout, result.stderr) == (expected, None)


REFUSED_SED = [
    "w marker",
    "p;w marker",
    "1w marker",
    "/x/w marker",
    "s/a/b/w marker",
    "s/a/b/gw marker",
    "s,a,b,w marker",
    "e touch marker",
    "1e touch marker",
    "e",
    "s/.*/touch marker/e",
    "s/.*/touch marker/ge",
    "s/.*/touch marker/eg",
    "r /etc/passwd",
    "R /etc/passwd",
    "W marker",
    "F",
    "a text",
    "i\\\nw marker",
    "c x",
    "{w marker\n}",
    "{p}",
    ":a;ba",
    "N;P;D",
    "h;G",
    "l",
    "n",
    "y/a/b/;w marker",
    "p\nw marker",
    "p }w marker",
    "#n\nw marker",
    "s/[/]/x/w marker",
    "s/[/w marker\n/]/x/",
    "s/[^]/]/x/;w marker",
    "s/a/b\nw marker/",
    "s/a/b\\\nw marker/",
    "\\,x,w marker",
    "0~2w marker",
    "1,+3w marker",
    "$!w marker",
    "sxaxbxw marker",
    "s\na\nb\nw marker",
    "s;a;b;w marker",
    "s/a/b",
    "s/a",
    "s",
    "y",
    "1,",
    "v 4.2;w marker",
    "z",
    "T",
    "Q;w marker",
    "p;;;w marker",
    "s/a/b/w /dev/stdout",
    "s/a/b/w/dev/stderr",
    "s/a/b/2e",
    "/x/{p;w marker\n}",
    "1{s/a/b/e}",
    "1p;2p}w marker",
    "/x/Mw marker",
    "0,/x/w marker",
    "2,~4w marker",
    "y/a/b/w marker",
    "s/\\(/x/;w marker/",
    "s/a/b/ #c\nw marker",
]
REFUSED_AWK = [
    'BEGIN{system("touch marker")}',
    'BEGIN{system ("touch marker")}',
    '{print > "marker"}',
    '{print >> "marker"}',
    '{print>"marker"}',
    '{printf "%s", $0 > "marker"}',
    '{print | "sh"}',
    '{print|"sh"}',
    '{print |& "sh"}',
    '{print ||| "sh"}',
    '{print || | "sh"}',
    'BEGIN{"touch marker" | getline}',
    'BEGIN{while ((getline line < "/etc/passwd") != 0) print line}',
    'BEGIN{getline < "/etc/passwd"}',
    'BEGIN{ARGV[1]="/etc/passwd";ARGC=2}{print}',
    'BEGIN{SYMTAB["AR" "GC"]=2}',
    'BEGIN{print ENVIRON["HOME"]}',
    'BEGIN{print PROCINFO["version"]}',
    'BEGIN{f="sys" "tem";@f("touch marker")}',
    '@include "x"',
    '@load "filefuncs"',
    'BEGIN{sys\\\ntem("touch marker")}',
    '{print "x" >="marker"}',
    'BEGIN{print "\N{FULLWIDTH GREATER-THAN SIGN}"}',
    "$3 > 1",
    "/a|b/",
    # A number ends where a name begins.
    'BEGIN{x=1system("id")}',
    'BEGIN{x=.5system("id")}',
    'BEGIN{x=0x1fsystem("id")}',
    'BEGIN{for(;1getline<"/etc/passwd" && i++<3;)print}',
    'BEGIN{print 1ENVIRON["PATH"]}',
    'BEGIN{print 1PROCINFO["version"]}',
    "BEGIN{x=1ARGV[1]++}{print}",
    'BEGIN{printf("x")>"/dev/stderr"}',
    'BEGIN{while(("cat x")|getline y)print y}',
    'BEGIN{print "x" | "cat" ; close("cat")}',
    'BEGIN{printf "%c", 65 > "/dev/tcp/127.0.0.1/80"}',
    "function system(x){} BEGIN{}",
]


@pytest.mark.parametrize("script", REFUSED_SED)
def test_a_script_of_sed_that_does_more_than_print_is_refused(script: str) -> None:
    with pytest.raises(NotAllowed):
        check_sed(script)


@pytest.mark.parametrize("script", REFUSED_AWK)
def test_a_script_of_awk_that_does_more_than_print_is_refused(script: str) -> None:
    with pytest.raises(NotAllowed):
        check_awk(script)


@requires_sandbox
@pytest.mark.process
@pytest.mark.parametrize(
    "words",
    [
        "sort -o marker fruits",
        "sort -omarker fruits",
        "sort --output=marker fruits",
        "sort --out=marker fruits",
        "sort -T . fruits",
        "sort -S 9G fruits",
        "sort --compress-program=./run.sh fruits",
        "sort --files0-from=paths",
        "sort --random-source=/etc/passwd -R fruits",
        "sort ../outside/secret.txt",
        "uniq fruits marker",
        "uniq -- fruits marker",
        "uniq fruits - marker",
        "uniq -f 1 fruits marker",
        "uniq +1 fruits",
        "cut -f1 ../outside/secret.txt",
        "comm fruits ../outside/secret.txt",
        "nl ../outside/secret.txt",
        "nl -w 99999 fruits",
        "sed -i s/a/b/ fruits",
        "sed -i.bak s/a/b/ fruits",
        "sed --in-place=.bak s/a/b/ fruits",
        "sed -n -f script fruits",
        "sed --file=script fruits",
        "sed -nf script fruits",
        "sed --follow-symlinks -n p fruits",
        "sed -e p -e 'w marker' fruits",
        "sed --expression='w marker' fruits",
        "sed -e 's/x/y\\' -e 'w marker' fruits",
        "sed -n p ../outside/secret.txt",
        "sed -ni p fruits",
        "sed p fruits -n -e 'w marker'",
        "sed -- 'w marker' fruits",
        "sed '' fruits -i",
        "sed --fi=script fruits",
        "awk -f script fruits",
        "awk -fscript fruits",
        "awk --file=script fruits",
        "awk -i inplace '{print}' fruits",
        "awk -l filefuncs '{print}' fruits",
        "awk -e 'BEGIN{}' fruits",
        "awk -W exec script fruits",
        "awk -v ARGC=5 '{print}' fruits",
        "awk -v 'x' '{print}' fruits",
        "awk '{print}' ../outside/secret.txt",
        "awk '{print}' /etc/passwd",
        "awk '{print}' FS=x /etc/passwd",
        "awk -- 'BEGIN{system(\"touch marker\")}'",
        "awk --dump-variables=marker 'BEGIN{}'",
        "awk -omarker 'BEGIN{}'",
        "awk -v 'FS=\\x2f' '{print}' fruits",
        "gawk '{print}' fruits",
        "busybox sh",
        "env sh",
        "xargs touch",
    ],
)
async def test_forms_that_write_run_or_leave_the_workspace_are_refused(
    words: str, workspace: EngineWorkspace
) -> None:
    root = workspace.roots()[0]
    before = {path: path.read_bytes() for path in Path(root).iterdir() if path.is_file()}
    with pytest.raises(NotAllowed):
        await bash(workspace, words)
    assert {path: path.read_bytes() for path in Path(root).iterdir() if path.is_file()} == before


@pytest.mark.parametrize("line", ["sed -n 1p fruits", "awk '{print}' fruits"])
async def test_without_a_sandbox_scripts_are_refused(
    line: str, workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "is_available", lambda: False)
    with pytest.raises(NotAllowed, match="only in the kernel's sandbox"):
        await bash(workspace, line)


@requires_sandbox
@pytest.mark.process
async def test_the_kernel_stops_writes_that_no_check_refuses(
    workspace: EngineWorkspace,
) -> None:
    root = Path(workspace.roots()[0])
    script = '{print > "marker"; print > "fruits"}'
    before = (root / "fruits").read_bytes()
    awk = workspace.installed.find("awk")
    deadline = asyncio.get_running_loop().time() + 10
    async with workspace.processes.pipeline(
        [[awk, script, "others"]], cwd=root, deadline=deadline
    ) as [child]:
        _ = b"".join([chunk async for chunk in child.chunks()])
        assert await child.wait() != 0
    assert not (root / "marker").exists()
    assert (root / "fruits").read_bytes() == before


@requires_sandbox
@pytest.mark.process
@settings(max_examples=150, deadline=None)
@given(script=st.text("spwerdq/;,\n{}$!12[]^\\ ax=", max_size=24))
def test_no_accepted_script_of_sed_is_refused_by_its_own_sandbox(script: str) -> None:
    """sed refuses w, e and r in its sandbox: an accepted script has none."""
    try:
        check_sed(script)
    except NotAllowed:
        return
    done = subprocess.run(
        ["/usr/bin/sed", "--sandbox", "-n", f"-e{script}"] if script else ["/bin/true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert "sandbox" not in done.stderr, script
