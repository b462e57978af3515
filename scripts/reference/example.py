"""Run the examples in a copy of ``docs/example``, so that they give the same results everywhere.

The copy is not inside another repository. It is the root of its own repository, and the
modification time of all files is :data:`CHANGED`. Its search history contains two searches, and the
parent folder is the home of a user who has sent a request to a language model. The remaining
differences between runs are the path of the copy, the id and duration of a search, and the time of
the index update. :func:`steady` replaces only these.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from msgspec import Struct

from winnow.config import Config, IndexSettings, Limits
from winnow.index.builder import writing
from winnow.privacy.outbound.audit_log import AuditLog, RequestEnd, SentRequest
from winnow.privacy.outbound.consent import Consents
from winnow.ranking.history.store import HistoryStore, SearchEvent, SearchRecord
from winnow.search.answer import completeness
from winnow.search.code import indexed
from winnow.search.keyword import index_results
from winnow.storage.state_folder import OWN_FOLDER, User
from winnow.storage.user_folders import state_folder
from winnow.tools.registry import Tool, is_list_of_ranges
from winnow.types import Progress, Result, no_progress
from winnow.workspace import EngineWorkspace

PROJECT = Path(__file__).parents[2] / "docs" / "example"
SHOWN_ROOT = "/example"
SHOWN_HOME = "/home/you"
SHOWN_ID = "5ea7c41d5ea7"
# Embeddings are off, because they depend on installed packages; the user's settings file repeats
# this for commands. Terms are probed without a time limit: if one takes too long, terms are
# searched together, which changes the scores.
SETTINGS = Config(index=IndexSettings(embeddings="off"), limits=Limits(probe_seconds=60.0))
OPENAI = "https://api.openai.com"
CHANGED = datetime(2026, 1, 1, tzinfo=timezone.utc).timestamp()

_ID = re.compile(r'(?<="search_id": ")[0-9a-f]{12}(?=")')
_SECONDS = re.compile(r'(?<="seconds": )[0-9.]+')
_INDEXED = re.compile(r'(?<="updated_at": )[0-9.]+')
_INDEXED_AT = re.compile(r"(?<=last updated at )[0-9T:-]+(?=Z)")
# Values of an index that differ between machines: its path and its resource usage.
_STORE = re.compile(r"(?<=index-)[0-9a-f]{12}(?=\.db)")
_USAGE = (
    (re.compile(r'(?<="bytes_on_disk": )[0-9]+'), "108076"),
    (re.compile(r'(?<="workers": )[0-9]+'), "1"),
    (re.compile(r'(?<="memory_mb": )[0-9.]+'), "68.4"),
    (re.compile(r'(?<="workers_memory_mb": )[0-9.]+'), "38.2"),
    (re.compile(r"[0-9.]+(?= MB in )"), "0.1"),
    (re.compile(r"[0-9]+ workers?, [0-9]+(?= MB of memory)"), "1 worker, 68"),
)


class Example(Struct, frozen=True):
    """The result of an example, and the folder in which it ran."""

    result: Result
    folder: Path


@contextlib.contextmanager
def project() -> Iterator[Path]:
    """Create a copy of the project and delete it at the end of the ``with`` block."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.path.realpath(temporary)) / "example"
        shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
        (folder / ".git").mkdir()  # marks the root of a repository
        for file in folder.rglob("*"):
            os.utime(file, (CHANGED, CHANGED))
        settings = Path(temporary, ".config/winnow/config.toml")
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[index]\nembeddings = "{SETTINGS.index.embeddings}"\n')
        yield folder


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of the user whose home holds the copy."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder.parent)}


def remember(folder: Path) -> None:
    """Replace the search history of the copy. It contains no queries of examples: their scores
    would change as the history ages."""
    for file in folder.glob(f"{OWN_FOLDER}/learning.db*"):
        file.unlink()
    store = HistoryStore.open(folder, User.of(environment(folder)))
    store.write(
        [
            SearchRecord(
                *(SHOWN_ID, CHANGED, "keyword_search", "where are names looked up", "question"),
                seconds=0.021,
                returned=2,
                paths=("src/loader.py", "src/registry.py"),
            ),
            SearchRecord("0123456789ab", CHANGED + 60, "grep", "load_plugins", "symbol", 0.012, 0),
        ],
        [SearchEvent(SHOWN_ID, CHANGED + 5, "kept", "src/loader.py", 1)],
    )
    store.close()


def write_audit_log(folder: Path) -> None:
    """Record a request to a language model, and a consent, in the user's state folder."""
    state = state_folder(environment(folder))
    assert state is not None
    for file in (*state.glob("audit*"), *state.glob("consent*")):
        file.unlink()
    log, roots = AuditLog(state), [str(folder)]
    sent = SentRequest(
        id=SHOWN_ID,
        time="2026-01-01T00:00:00.000Z",
        purpose="keyword_search",
        workspace=roots,
        model="gpt5-mini",
        provider="openai",
        destination=OPENAI,
        remote=True,
        files=["src/loader.py", "src/registry.py"],
        bytes=5421,
        redactions={"password": 1},
        tokens=3857,
    )
    log.begin(sent, lambda used: None, needs_use=False)
    log.end(
        RequestEnd(
            id=SHOWN_ID,
            time="2026-01-01T00:00:01.250Z",
            outcome="answered",
            input_tokens=1711,
            output_tokens=96,
        )
    )
    Consents(state).give(roots, [OPENAI])


def _lift_time_limits() -> None:
    """Lift the time limits for counting symlinks and for waiting for the index: on a slow machine,
    reaching them would change the answers."""
    completeness.LINKS_SECONDS = completeness.SMALL_TREE_SECONDS = 60.0
    index_results.SECONDS = 60.0
    vars(indexed)["CATCH_UP_SECONDS"] = 60.0  # mypy rejects assigning an imported name


def _has_index(folder: Path) -> bool:
    return any(folder.glob(f"{OWN_FOLDER}/index-*.db"))


async def prepare(folder: Path) -> None:
    """Write the search history and the audit log of the copy, and build its index: answers during
    a build differ between runs. No example changes the index, so only the first call builds it."""
    # All files in one segment: across segments, the number of importing files is approximate.
    writing.BATCH_SECONDS = 60.0
    write_audit_log(folder)
    remember(folder)
    if _has_index(folder):
        return
    workspace = EngineWorkspace([folder], SETTINGS, environment(folder))
    try:
        await workspace.index.build(consent=True)
    finally:
        await workspace.aclose()


async def run(tool: Tool[Any, Any], folder: Path, progress: Progress = no_progress) -> Example:
    """Run a tool's example with default settings and without API keys."""
    _lift_time_limits()
    await prepare(folder)
    settings = SETTINGS.turned_on(tool.switch) if tool.switch else SETTINGS
    workspace = EngineWorkspace([folder], settings, environment(folder))
    try:
        return Example(await tool.call(workspace, dict(tool.example), progress), folder)
    finally:
        await workspace.aclose()


def steady(text: str, folder: Path) -> str:
    """Replace the values that differ between runs."""
    text = text.replace(str(folder), SHOWN_ROOT).replace(str(folder.parent), SHOWN_HOME)
    text = _ID.sub(SHOWN_ID, text)
    text = _INDEXED.sub(str(CHANGED), _SECONDS.sub("0.021", text))
    text = _STORE.sub(SHOWN_ID, _INDEXED_AT.sub("2026-01-01T00:00:00", text))
    for pattern, shown in _USAGE:
        text = pattern.sub(shown, text)
    return text


def command_line(tool: Tool[Any, Any], params: Mapping[str, Any], *more: str) -> str:
    """Return the command line with these parameters, as a user would type it."""
    required: list[str] = []
    positional: list[str] = []
    options: list[str] = []
    for field in tool.fields:
        if field.name not in params:
            continue
        value = params[field.name]
        values = value if isinstance(value, list) else [value]
        if is_list_of_ranges(field.kind):
            values = [f"{span.get('start', 1)}-{span.get('end', '')}" for span in values]
        option = field.option
        if field.required:
            required += map(str, values)
        elif field.name in tool.positional:
            positional += map(str, values)
        elif isinstance(value, bool):
            options.append(option if value else option.replace("--", "--no-", 1))
        else:
            options += [word for item in values for word in (option, str(item))]
    return shlex.join(["winnow", tool.command, *required, *positional, *options, *more])


def synopsis(tool: Tool[Any, Any]) -> Sequence[str]:
    """Return the words of the command's synopsis."""
    words = [
        field.name.removeprefix("search_").upper().rstrip("S") + "..."
        if field.name == "search_terms"
        else field.name.upper()
        for field in tool.fields
        if field.required
    ]
    words += [f"[{name.upper()}]{'...' * tool.takes_paths}" for name in sorted(tool.positional)]
    return ["winnow", tool.command, *words, *["[OPTION]..."] * bool(tool.fields)]
