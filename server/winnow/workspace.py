"""The workspace: open folders, configuration, and what lives as long as they do."""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.config import Config, cache_folder
from winnow.errors import SearchError
from winnow.ranking.models import Models
from winnow.ranking.providers.editor import AskEditor
from winnow.text.files import Scope, search_roots, search_scope
from winnow.text.links import with_links
from winnow.text.paths import is_below, real_path
from winnow.text.process import Processes
from winnow.text.ripgrep import Ripgrep, find_ripgrep
from winnow.text.ripgrep import environment as rg_environment
from winnow.text.selection import Selector
from winnow.types import FileParams, ScopeParams, SearchParams
from winnow.unindexed import Unindexed

if TYPE_CHECKING:
    from winnow.documents.library import Library, Reporting
    from winnow.index.index import Index
    from winnow.index.names import NameTables
    from winnow.learning.learning import Learning

# Listing the files of a large tree on a cold disk; nobody waits for it.
LIST_SECONDS = 60.0


def below(root: Path, paths: Iterable[Path]) -> list[str]:
    """Of some files, those below a folder, as seen from there."""
    return [path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root)]


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
        self.processes = Processes(self.config.limits.processes, self._readable)
        # More searches at once would all be slower, and the server slow to answer anything else.
        self.turns = asyncio.Semaphore(self.config.limits.searches)
        # A pipeline may take long: it keeps others of its kind waiting, and no searches.
        self.pipelines = asyncio.Semaphore(1)
        # So may a search of documents.
        self.document_turns = asyncio.Semaphore(3)
        # What searches by the index have listed besides.
        self.unindexed = Unindexed()
        # Whom to tell of documents that are read in the background.
        self.reporting: Reporting | None = None
        # How an index is begun in the background, perhaps with consent to whatever it takes; None
        # where nothing goes on behind an answer.
        self.start_indexing: Callable[[bool], None] | None = None
        self._ask_editor: AskEditor | None = None
        self.models = self._models()
        self._retired: list[Models] = []

    def reconfigure(self, config: Config) -> None:
        """Go on with another configuration; requests under way keep theirs."""
        if (config.llm, config.search.secrets) != (self.config.llm, self.config.search.secrets):
            self._retired.append(self.models)
            self.config = config
            self.models = self._models()
        self.config = config

    def offer_model(self, ask_editor: AskEditor) -> None:
        """Take the editor's own model among those that rank."""
        self._ask_editor = ask_editor
        self._retired.append(self.models)
        self.models = self._models()

    def _models(self) -> Models:
        rules = self.config.search.secrets
        return Models(self.config.llm, self.environment, self._ask_editor, self.roots, rules)

    def roots(self) -> list[Path]:
        """The repositories of the folders; none where no folder is open."""
        try:
            return search_roots(self.folders)
        except SearchError:
            return []

    def _readable(self) -> Iterable[str]:
        """What programs that search may read."""
        from winnow.text import fence

        return fence.readable(self.roots(), self.environment)

    def scope(self, params: ScopeParams) -> Scope:
        """What a search with these params covers."""
        if not isinstance(params, SearchParams):
            params = SearchParams(
                path=params.path,
                include=params.include,
                exclude=params.exclude,
                file_types=params.file_types,
            )
        return search_scope(self.folders, params, self.config.search.exclude, list(self.buffers))

    @property
    def ripgrep(self) -> str:
        """The ripgrep program; raises ProgramNotInstalled."""
        return find_ripgrep(self.config.programs.rg)

    async def narrowed(self, scope: Scope, params: FileParams, ripgrep: Ripgrep) -> Scope:
        """The scope as `scope` and `follow_symlinks` of the params change it."""
        if params.scope != "workspace":
            git = shutil.which("git", path=self.environment.get("PATH"))
            return await Selector(ripgrep, git, self.buffers).select(scope, params)
        if params.follow_symlinks:
            return await with_links(ripgrep, scope, params.include_hidden)
        return scope

    def run_ripgrep(self, seconds: float | None = None) -> Ripgrep:
        """How ripgrep is run for a request that begins now, and may take so long; raises
        ProgramNotInstalled."""
        seconds = seconds or self.config.limits.search_seconds
        return Ripgrep(
            processes=self.processes,
            program=self.ripgrep,
            environment=self.ripgrep_environment,
            deadline=asyncio.get_running_loop().time() + seconds,
            seconds=seconds,
        )

    @functools.cached_property
    def index(self) -> Index:
        """The index of symbols; loaded when it is first used."""
        from winnow.index.index import Index

        return Index(
            self.processes,
            self.environment,
            config=lambda: self.config,
            folders=lambda: self.folders,
            ripgrep=lambda: self.run_ripgrep(LIST_SECONDS),
            ordered=self._in_order,
            prepare=self._prepare,
        )

    def _prepare(self) -> None:
        """Load what searches of the index need."""
        for name in ("winnow.code_search", "winnow.index.joining"):
            importlib.import_module(name)
        from winnow.retrieval.embeddings import model_at
        from winnow.retrieval.search import load

        load(model_at(self.config.index.embeddings).model)

    async def _in_order(self, root: Path, paths: Sequence[str]) -> list[str]:
        """Files of a folder in the order in which they are to be indexed."""
        from winnow.index import priorities

        git = shutil.which("git", path=self.environment.get("PATH"))
        folders = {path.rpartition("/")[0] for path in paths}
        settings = self.config.index
        return priorities.ordered(
            paths,
            open_documents=below(root, self.buffers),
            touched=await priorities.touched_lately(root, self.processes, git, self.environment),
            asked=below(root, map(Path, await self.learning.asked())),
            folders=await priorities.folders_by_model(settings, self.models, folders, len(paths))
            or (),
        )

    @property
    def has_index(self) -> bool:
        """Whether anybody has used the index yet."""
        return "index" in self.__dict__

    @functools.cached_property
    def names(self) -> NameTables:
        """The names of all definitions in the index, in memory."""
        from winnow.index.names import NameTables

        return NameTables()

    @functools.cached_property
    def library(self) -> Library:
        """The texts of documents; loaded when they are first used."""
        from winnow.documents.library import Library

        return Library(
            self.processes,
            self.environment,
            config=lambda: self.config,
            folder=cache_folder(self.environment, "documents"),
            reporting=self.reporting,
        )

    @functools.cached_property
    def learning(self) -> Learning:
        """What is learned of searches; loaded when the first one is answered."""
        from winnow.learning.learning import Learning

        return Learning(
            root=self._learning_root,
            enabled=lambda: self.config.learning.enabled,
            masked=self._masked,
        )

    def _masked(self, query: str) -> str:
        """A query as it may be kept."""
        from winnow.secrets import masked

        if not self.config.index.enable_sensitive_filtering:
            return query
        raw = query.encode("utf-8", "replace")
        return masked(raw, self.config.secret_rules)[0].decode("utf-8", "replace")

    def _learning_root(self) -> Path | None:
        """The folder in which it is kept: the first one; nothing is left in a home folder, or what
        holds it."""
        home = self.environment.get("HOME") or os.path.expanduser("~")
        try:
            root = search_roots(self.folders)[0]
        except SearchError:
            return None
        return None if is_below(real_path(home), real_path(root)) else root

    def files_changed(self, paths: Iterable[str | Path]) -> None:
        """Take note that files were changed, made or removed: the one door for all who know."""
        if self.has_index:
            self.index.files_changed(paths)

    @property
    def ripgrep_environment(self) -> dict[str, str]:
        return rg_environment(self.environment)

    async def aclose(self) -> None:
        """End children and connections."""
        self.processes.close()
        if "learning" in self.__dict__:
            await self.learning.aclose()
        if self.has_index:
            await self.index.aclose()
        if "library" in self.__dict__:
            await self.library.aclose()
        for models in (*self._retired, self.models):
            await models.aclose()
