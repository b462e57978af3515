"""What `scripts/build` does in Python: see that there is one version, and pack the plugin.

python scripts/release.py version                  print it; fail where it is not everywhere
python scripts/release.py plugin FILE SECONDS      the plugin for Neovim, as of a time since 1970
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Where the version is set; all others follow it.
SOURCE = "server/winnow/__init__.py"
PLUGIN = "winnow.nvim"
# What of nvim/ is used where it is installed; the rest is for those who change it.
PLUGIN_PARTS = ("README.md", "doc", "lsp", "lua", "media", "plugin")
NOT_PACKED = {"nvim/doc/tags"}  # made by `:helptags`


def versions(root: Path = ROOT) -> dict[str, str]:
    """The version in each file that names it, that of :data:`SOURCE` first."""
    lock = json.loads((root / "vscode-extension/package-lock.json").read_text("utf-8"))
    manifest = json.loads((root / "vscode-extension/package.json").read_text("utf-8"))
    return {
        SOURCE: _found(r'^__version__ = "(.+)"$', root / SOURCE),
        "vscode-extension/package.json": manifest["version"],
        "vscode-extension/package-lock.json": lock["version"],
        "vscode-extension/package-lock.json, packages": lock["packages"][""]["version"],
        "nvim/lua/winnow/version.lua": _found(
            r"^return '(.+)'$", root / "nvim/lua/winnow/version.lua"
        ),
        **{
            name: _found(r"^## (\S+)", root / name)
            for name in ("CHANGELOG.md", "vscode-extension/CHANGELOG.md")
        },
    }


def _found(pattern: str, file: Path) -> str:
    found = re.search(pattern, file.read_text("utf-8"), re.M)
    return found[1] if found else "none"


def disagreeing(found: dict[str, str]) -> list[str]:
    """What to say of each file that has another version than the source."""
    wanted = found[SOURCE]
    return [
        f"{file} has version {version}, and {SOURCE} {wanted}"
        for file, version in found.items()
        if version != wanted
    ]


def pack_plugin(target: Path, seconds: int, root: Path = ROOT) -> None:
    """Write the archive of the plugin: one folder for `pack/*/start`. The same files and time give
    the same bytes."""
    plugin = root / "nvim"
    files = [
        file
        for part in PLUGIN_PARTS
        for file in ([plugin / part] if (plugin / part).is_file() else (plugin / part).rglob("*"))
        if file.is_file() and file.relative_to(root).as_posix() not in NOT_PACKED
    ]
    names = {file.relative_to(plugin).as_posix(): file for file in files}
    names["LICENSE"] = root / "LICENSE"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(names):
            entry = tarfile.TarInfo(f"{PLUGIN}/{name}")
            data = names[name].read_bytes()
            entry.size, entry.mtime = len(data), seconds
            archive.addfile(entry, io.BytesIO(data))
    target.write_bytes(gzip.compress(packed.getvalue(), mtime=seconds))


def main(arguments: list[str]) -> int:
    if arguments == ["version"]:
        found = versions()
        print(found[SOURCE])
        wrong = disagreeing(found)
        print(*wrong, sep="\n", end="\n" * bool(wrong), file=sys.stderr)
        return 1 if wrong else 0
    [command, file, seconds] = arguments
    if command != "plugin":
        raise SystemExit(__doc__)
    pack_plugin(Path(file), int(seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
