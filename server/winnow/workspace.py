"""The workspace: open folders, configuration, and what lives as long as they do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from winnow.config import Config
from winnow.ranking.models import Models
from winnow.text.files import Scope, search_scope
from winnow.text.process import Processes
from winnow.text.ripgrep import environment as rg_environment
from winnow.text.ripgrep import find_ripgrep
from winnow.types import SearchParams


class Workspace:
    """Folders and the state of the engine for them; made inside a running event loop.

    ``environment`` is where keys are looked up and what children inherit.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        config: Config | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folders = list(folders)
        self.environment = dict(os.environ if environment is None else environment)
        self.config = config or Config()
        # The text of open documents, by path; whoever knows the editor keeps it up to date.
        self.buffers: Mapping[Path, str] = {}
        self.processes = Processes(self.config.limits.processes)
        # More searches at once would all be slower, and the server slow to answer anything else.
        self.turns = asyncio.Semaphore(self.config.limits.searches)
        self.models = Models(self.config.llm, self.environment)
        self._retired: list[Models] = []

    def reconfigure(self, config: Config) -> None:
        """Go on with another configuration; requests under way keep theirs."""
        if config.llm != self.config.llm:
            self._retired.append(self.models)
            self.models = Models(config.llm, self.environment)
        self.config = config

    def scope(self, params: SearchParams) -> Scope:
        """What a search with these params covers."""
        return search_scope(self.folders, params, self.config.search.exclude)

    @property
    def ripgrep(self) -> str:
        """The ripgrep program; raises ProgramNotInstalled."""
        return find_ripgrep(self.config.programs.rg)

    @property
    def ripgrep_environment(self) -> dict[str, str]:
        return rg_environment(self.environment)

    async def aclose(self) -> None:
        """End children and connections."""
        self.processes.close()
        for models in (*self._retired, self.models):
            await models.aclose()
