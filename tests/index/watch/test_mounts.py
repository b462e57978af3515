"""File systems that do not report all changes, from Linux's list of mounts."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has mountinfo", allow_module_level=True)

from winnow.index.watch.mounts import Mount, mounted_at, parsed, silent_below

PLAIN = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
31 27 0:25 / /home rw,relatime shared:1 master:2 - nfs4 server:/home rw,vers=4.2
32 31 0:26 / /home/me/My\\040Projects rw - fuse.sshfs me@server: rw
33 27 0:27 / /mnt/c rw,noatime - 9p drvfs rw,aname=drvfs;path=C:\\;uid=1000
34 27 0:28 / /srv rw - cifs //server/share rw
35 27 0:29 / /data rw - xfs /dev/vdb rw
36 35 0:30 / /data/tree/shared rw - virtiofs host rw
37 35 0:31 / /data/tree/cache rw - tmpfs none rw
38 35 0:31 / /database rw - vboxsf none rw
"""


def test_a_line_has_the_mount_point_and_kind_of_a_file_system() -> None:
    mounts = parsed(PLAIN + "nonsense\n\n1 2 3\n")
    assert mounts[0] == Mount("/proc", "proc")
    assert mounts[2] == Mount("/home", "nfs4")
    assert mounts[3] == Mount("/home/me/My Projects", "fuse.sshfs")
    assert len(mounts) == 10


@pytest.mark.parametrize(
    ("root", "silent"),
    [
        ("/", {"proc": "proc", "home": "nfs4", "home/me/My Projects": "fuse.sshfs", "mnt/c": "9p"}
         | {"srv": "cifs", "data/tree/shared": "virtiofs", "database": "vboxsf"}),
        ("/usr/src", {}),
        ("/home/me/code", {"": "nfs4"}),
        ("/home/me", {"": "nfs4", "My Projects": "fuse.sshfs"}),
        ("/home/me/My Projects/one", {"": "fuse.sshfs"}),
        ("/mnt/c/Users/me", {"": "9p"}),
        ("/data", {"tree/shared": "virtiofs"}),
        ("/data/tree", {"shared": "virtiofs"}),
        ("/data/tree/cache", {}),
        ("/database/a", {"": "vboxsf"}),
    ],
)  # fmt: skip
def test_file_systems_that_report_no_changes_are_found(root: str, silent: dict[str, str]) -> None:
    assert silent_below(parsed(PLAIN), root) == silent


def test_the_latest_mount_at_a_point_counts() -> None:
    container = "1 0 0:1 / / rw - overlay overlay rw\n"
    assert silent_below(parsed(container), "/project") == {}
    shared = "2 1 0:2 / /project rw - fuse.grpcfuse host rw\n"
    assert silent_below(parsed(container + shared), "/project") == {"": "fuse.grpcfuse"}
    over = "3 2 0:3 / /project rw - tmpfs none rw\n"
    assert mounted_at(parsed(container + shared + over), "/project") == [Mount("/project", "tmpfs")]
