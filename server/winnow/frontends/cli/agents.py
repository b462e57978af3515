"""`winnow init-agent`: add `winnow mcp` to the configuration files of agents.

Other content of a file stays. If a file can't be parsed, or adding the entry would change its
meaning, the file isn't changed and the entry is printed for the user to add by hand.
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
ARGUMENTS = ("mcp",)
Plain = dict[str, Any]


class Agent(Struct, frozen=True, kw_only=True):
    """An agent, its configuration file in a project, and the key of its servers in that file.

    ``traces`` are project files and folders that only this agent creates, ``at_home`` those in the
    home folder. An agent that doesn't start servers in the project's folder replaces ``root`` with
    that folder. ``more`` are further fields of an entry; ``note`` is a hint for the user.
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
        """Return the entry for `winnow mcp`, given the command that starts Winnow."""
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
        note="Codex reads this file only in trusted projects. To use Winnow in all projects, add"
        " the entry to ~/.codex/config.toml",
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


class AgentOutcome(Struct, frozen=True):
    """The outcome for an agent; ``good`` if its file has the entry or writing was off."""

    good: bool
    text: str


def command(installed: InstalledPrograms) -> list[str]:
    """Return the command that starts Winnow: its name if PATH leads to this installation, because
    a project's files are shared; else its path, or this Python's path.

    Agents start it in the project's folder. `python -m` alone would import the project's modules
    instead of Winnow's or Python's own.
    """
    found, ours = installed.which(NAME), installed.packaged(NAME)
    if found and ours and os.path.realpath(found) == os.path.realpath(ours):
        return [NAME]
    if ours:
        return [ours]
    if getattr(sys, "frozen", False):  # see scripts/frozen
        return [sys.executable]
    safe = ["-P"] if sys.version_info >= (3, 11) else []
    return [sys.executable, *safe, "-m", NAME]


def found_in(folder: Path, home: Path) -> list[str]:
    """Return the agents with traces in a project or a home folder. Always include the agent of
    `.mcp.json`, because several agents read that file."""
    return [
        name
        for name, agent in AGENTS.items()
        if name == "claude"
        or any((folder / trace).exists() for trace in agent.traces)
        or any((home / trace).exists() for trace in agent.at_home)
    ]


def introduce(
    agent: Agent, folder: Path, home: Path, installed: InstalledPrograms, *, write: bool
) -> AgentOutcome:
    """Add the entry to an agent's file in a project; without ``write``, only return it.

    Don't follow a symlink that leads out of the project: the repository may contain it. In the
    ``home`` folder, symlinks are the user's own.
    """
    file = folder / agent.file
    shown = printable(str(file))
    toml = file.suffix == ".toml"
    added = agent.entry(command(installed))
    entry = _toml(agent, added) if toml else _json({agent.key: {NAME: added}})
    note = f"\n   {agent.note}" if agent.note else ""
    if not write:
        return AgentOutcome(True, f"# {agent.title}: {shown}{note}\n{entry}")
    try:
        target = _target(file, None if real_path(folder) == real_path(home) else folder)
        before = _text_of(target)
        after = _with_toml(before, agent, added) if toml else _with_json(before, agent, added)
        if after == before:
            return AgentOutcome(True, f"{agent.title}: {shown} already has the entry")
        _write(target, after)
    except (ValueError, OSError) as error:
        problem = _problem(error)
        text = f"{agent.title}: {shown} was not changed: {problem}. Add by hand:\n{entry}"
        return AgentOutcome(False, text)
    return AgentOutcome(True, f"{agent.title}: {'added to' if before else 'wrote'} {shown}{note}")


# --- files ---------------------------------------------------------------------------------


def _json(value: Plain, indent: str = "  ") -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"


def _with_json(before: str, agent: Agent, entry: Plain) -> str:
    """Return the JSON file with the entry. Raise ValueError if the file must not be changed."""
    if not before.strip():
        return _json({agent.key: {NAME: entry}})
    try:
        settings = json.loads(before, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        # It may have comments, which several agents allow and which would be lost.
        raise ValueError(f"not plain JSON (line {error.lineno}: {error.msg})") from None
    servers = settings.setdefault(agent.key, {}) if isinstance(settings, dict) else None
    if not isinstance(servers, dict):
        raise ValueError(f"`{agent.key}` is not an object")
    if _is_there(servers, entry):
        return before
    servers[NAME] = entry
    indented = re.search(r"^[ \t]+(?=\")", before, re.M)
    return _json(settings, indented[0] if indented else "  ")


def _once(pairs: list[tuple[str, Any]]) -> Plain:
    """Return the object. Raise ValueError if a key occurs twice, because one would be lost."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("it contains a duplicate key")
    return made


def _with_toml(before: str, agent: Agent, entry: Plain) -> str:
    """Return the TOML file with the entry at its end. Raise ValueError if the file must not be
    changed."""
    settings = _parsed(before)
    servers = settings.setdefault(agent.key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"`{agent.key}` is not a table")
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
        raise ValueError("an entry can't be added at the end")
    return after


def _parsed(text: str) -> Plain:
    try:
        settings: Plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"not TOML ({error})") from None
    return settings


def _toml(agent: Agent, entry: Plain) -> str:
    """Return the entry as a TOML table. Every JSON string is also a TOML string."""
    rows = (f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
    return f"[{agent.key}.{NAME}]\n" + "".join(rows)


def _is_there(servers: Plain, entry: Plain) -> bool:
    """Return True if the entry exists. Raise ValueError if the name has a different entry."""
    if NAME not in servers:
        return False
    if servers[NAME] != entry:
        raise ValueError(f"it has a different entry `{NAME}`")
    return True


def _target(file: Path, project: Path | None) -> Path:
    """Resolve symlinks. Raise ValueError if one leads out of the ``project``."""
    target = real_path(file)
    if project is not None and not is_below(target, real_path(project)):
        raise ValueError(
            f"a symlink leads out of the project, to {shown_path(target)[0]}; replace it"
        )
    return Path(target)


def _text_of(file: Path) -> str:
    """Return a file's text, or "" if it doesn't exist. Raise OSError or ValueError."""
    try:
        return read_untrusted(file).decode("utf-8")
    except FileNotFoundError:
        return ""


def _problem(error: ValueError | OSError) -> str:
    if isinstance(error, UnusableFile):
        return error.reason
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _write(file: Path, text: str) -> None:
    """Write a file and keep its permissions. Raise OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o644
    replace_file(file, text.encode(), mode)
