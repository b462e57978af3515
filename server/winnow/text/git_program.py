"""Run git in a folder of unknown origin. No other module does.

The configuration of a repository names programs for git to run. They are disabled here, and git
runs in a sandbox. A command must not read changed files or signatures: see the options that its
caller adds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from winnow.processes.children import Child, Processes, Watchdog
from winnow.text.git_files import is_linked_from_outside

_SAFE = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
# In a partial clone, git would fetch missing objects with a program that the repository names.
_ENVIRONMENT = {"LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
# For `git log`: show no signatures and no contents, which other programs may verify and convert,
# and read no other files that the configuration names.
LOG_SAFE = ("--no-show-signature", "--no-ext-diff", "--no-textconv", "-O/dev/null")


@contextlib.asynccontextmanager
async def running_git(
    processes: Processes,
    git: str,
    root: Path,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    deadline: float,
    watchdog: Watchdog | None = None,
) -> AsyncIterator[Child]:
    """Run git in the root of a working tree; ``deadline`` is on the loop's clock, in seconds."""
    inherited = {key: value for key, value in environment.items() if not key.startswith("GIT_")}
    async with processes.start(
        [git, "-C", str(root), *_SAFE, *arguments],
        cwd=root,
        deadline=deadline,
        # If `.git` is not a repository, don't use the repository of a parent folder.
        environment={
            **inherited,
            **_ENVIRONMENT,
            "GIT_CEILING_DIRECTORIES": str(root.parent),
        },
        # The repository's own configuration can include any file.
        sandboxed=not await asyncio.to_thread(is_linked_from_outside, root),
        watchdog=watchdog,
    ) as child:
        yield child
