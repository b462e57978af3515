"""Telling agents of `winnow mcp`: an entry in the configuration file that each of them reads.

What is in a file stays. One that cannot be read, or that would mean something else afterwards, is
left as it is, and the entry is shown, to be added by hand.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from winnow.processes.programs import InstalledPrograms
from winnow.storage.paths import is_below, real_path, shown_path
from winnow.storage.untrusted import UnusableFile, read_untrusted
from winnow.storage.writing import replace_file
from winnow.text.sanitize import printable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = "winnow"
# Some agents show their model the structured content in the place of the text, which is shorter.
ARGUMENTS = ("mcp", "--text-only")
Plain = dict[str, Any]


class Agent(Struct, frozen=True, kw_only=True):
    """An agent: the file in a project that it reads, and where an entry stands in that.

    ``traces`` are files and folders of a project, ``at_home`` those of a user, that only it leaves.
    It starts servers in the project's folder, unless ``root`` is what it replaces by that. ``more``
    is what an entry has beside the command, ``note`` what its user should know.
    """

    title: str
    file: str
    key: str
    traces: Sequence[str] = ()
    at_home: Sequence[str] = ()
    root: str = ""
    more: Plain = {}
    note: str = ""

    def entry(self, command: Sequence[str]) -> Plain:
        """The entry for `winnow mcp`, by the command that starts Winnow."""
        program, *arguments = command
        root = [self.root] if self.root else []
        return {"command": program, "args": [*arguments, *ARGUMENTS, *root], **self.more}


AGENTS = {
    "claude": Agent(
        title="Claude Code",
        file=".mcp.json",
        key="mcpServers",
        traces=(".claude", "CLAUDE.md", ".mcp.json"),
        at_home=(".claude", ".claude.json"),
    ),
    "cursor": Agent(
        title="Cursor",
        file=".cursor/mcp.json",
        key="mcpServers",
        traces=(".cursor", ".cursorrules"),
        at_home=(".cursor",),
        root="${workspaceFolder}",
    ),
    "vscode": Agent(
        title="VS Code",
        file=".vscode/mcp.json",
        key="servers",
        traces=(".vscode",),
        at_home=(".vscode", ".vscode-server"),
        root="${workspaceFolder}",
        more={"type": "stdio"},
    ),
    "codex": Agent(
        title="Codex",
        file=".codex/config.toml",
        key="mcp_servers",
        traces=(".codex",),
        at_home=(".codex",),
        note="Codex reads it where the project is trusted; for all projects, it belongs into"
        " ~/.codex/config.toml",
    ),
    "gemini": Agent(
        title="Gemini CLI",
        file=".gemini/settings.json",
        key="mcpServers",
        traces=(".gemini", "GEMINI.md"),
        at_home=(".gemini",),
    ),
    "zed": Agent(
        title="Zed",
        file=".zed/settings.json",
        key="context_servers",
        traces=(".zed",),
        at_home=(".config/zed",),
        more={"env": {}},
    ),
}


class Done(Struct, frozen=True):
    """What was done for an agent, in words; ``good`` if it has the entry now, or was only shown."""

    good: bool
    text: str


def command(installed: InstalledPrograms) -> list[str]:
    """How an agent starts Winnow: by its name where that leads here, since a project's file is for
    others, too; else by its path, or that of this Python.

    The agent starts it in the project, whose modules must not be taken for Winnow's or Python's
    own, as by `-m` alone they are.
    """
    found, ours = installed.located(NAME), installed.packaged(NAME)
    if found and ours and os.path.realpath(found) == os.path.realpath(ours):
        return [NAME]
    if ours:
        return [ours]
    safe = ["-P"] if sys.version_info >= (3, 11) else []
    return [sys.executable, *safe, "-m", NAME]


def found_in(folder: Path, home: Path) -> list[str]:
    """The agents that have left traces in a project or a home folder. `.mcp.json` is always among
    them: several agents read it."""
    return [
        name
        for name, agent in AGENTS.items()
        if name == "claude"
        or any((folder / trace).exists() for trace in agent.traces)
        or any((home / trace).exists() for trace in agent.at_home)
    ]


def introduce(
    agent: Agent, folder: Path, home: Path, installed: InstalledPrograms, *, write: bool
) -> Done:
    """Give an agent its entry in a project; without ``write``, only show it.

    A symlink that leads out of the project is not followed, as the repository may have brought it.
    In the ``home`` folder symlinks are the user's own.
    """
    file = folder / agent.file
    shown = printable(str(file))
    toml = file.suffix == ".toml"
    added = agent.entry(command(installed))
    entry = _toml(agent, added) if toml else _json({agent.key: {NAME: added}})
    note = f"\n   {agent.note}" if agent.note else ""
    if not write:
        return Done(True, f"# {agent.title}: {shown}{note}\n{entry}")
    try:
        target = _target(file, None if real_path(folder) == real_path(home) else folder)
        before = _text_of(target)
        after = _with_toml(before, agent, added) if toml else _with_json(before, agent, added)
        if after == before:
            return Done(True, f"{agent.title}: {shown} has the entry already")
        _write(target, after)
    except (ValueError, OSError) as error:
        problem = _problem(error)
        text = f"{agent.title}: {shown} is left as it is: {problem}; add by hand:\n{entry}"
        return Done(False, text)
    return Done(True, f"{agent.title}: {'added to' if before else 'wrote'} {shown}{note}")


# --- files ---------------------------------------------------------------------------------


def _json(value: Plain, indent: str = "  ") -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"


def _with_json(before: str, agent: Agent, entry: Plain) -> str:
    """A JSON file with the entry. Raises ValueError for one that is not to be touched."""
    if not before.strip():
        return _json({agent.key: {NAME: entry}})
    try:
        settings = json.loads(before, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        # Comments, for instance, which several agents allow, and which would be lost.
        raise ValueError(f"it is no plain JSON (line {error.lineno}: {error.msg})") from None
    servers = settings.setdefault(agent.key, {}) if isinstance(settings, dict) else None
    if not isinstance(servers, dict):
        raise ValueError(f"`{agent.key}` is no object in it")
    if _is_there(servers, entry):
        return before
    servers[NAME] = entry
    indented = re.search(r"^[ \t]+(?=\")", before, re.M)
    return _json(settings, indented[0] if indented else "  ")


def _once(pairs: list[tuple[str, Any]]) -> Plain:
    """An object, none of whose keys would be lost."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("it has a key twice")
    return made


def _with_toml(before: str, agent: Agent, entry: Plain) -> str:
    """A TOML file with the entry at its end. Raises ValueError for one not to be touched."""
    settings = _parsed(before)
    servers = settings.setdefault(agent.key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"`{agent.key}` is no table in it")
    if _is_there(servers, entry):
        return before
    ends = "" if not before or before.endswith("\n") else "\n"
    after = f"{before}{ends}{chr(10) * bool(before.strip())}{_toml(agent, entry)}"
    servers[NAME] = entry
    try:
        as_meant = _parsed(after) == settings
    except ValueError:  # it has the servers as an inline table
        as_meant = False
    if not as_meant:
        raise ValueError("nothing can be added at its end")
    return after


def _parsed(text: str) -> Plain:
    try:
        settings: Plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is no TOML ({error})") from None
    return settings


def _toml(agent: Agent, entry: Plain) -> str:
    """The entry as a table; a JSON string is a TOML string, too."""
    rows = (f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
    return f"[{agent.key}.{NAME}]\n" + "".join(rows)


def _is_there(servers: Plain, entry: Plain) -> bool:
    """Whether the entry is there. Raises ValueError for another one of that name, which somebody
    has made."""
    if NAME not in servers:
        return False
    if servers[NAME] != entry:
        raise ValueError(f"it has another entry `{NAME}`")
    return True


def _target(file: Path, project: Path | None) -> Path:
    """Return the file that is read and written; symlinks in a ``project`` must stay in it.

    Raises ValueError for one that does not.
    """
    target = real_path(file)
    if project is not None and not is_below(target, real_path(project)):
        raise ValueError(
            f"a symlink there leads out of the project, to {shown_path(target)[0]}: replace it"
        )
    return Path(target)


def _text_of(file: Path) -> str:
    """Return the text of a file, empty if there is none. Raises OSError and ValueError."""
    try:
        return read_untrusted(file).decode("utf-8")
    except FileNotFoundError:
        return ""


def _problem(error: ValueError | OSError) -> str:
    if isinstance(error, UnusableFile):
        return error.reason
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _write(file: Path, text: str) -> None:
    """Write a file, whose permissions stay. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o644
    replace_file(file, text.encode(), mode)
