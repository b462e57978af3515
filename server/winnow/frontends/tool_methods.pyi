"""The tools as methods of `winnow.Workspace`. Written by scripts/docs from their definitions."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal

from winnow.tools.audit import AuditResult
from winnow.tools.bash import BashResult
from winnow.tools.code_search import CodeSearchResult
from winnow.tools.consent import ConsentResult
from winnow.tools.document_text import DocumentTextResult
from winnow.tools.feedback import FeedbackResult
from winnow.tools.find_references import FindReferencesResult
from winnow.tools.find_symbol import FindSymbolResult
from winnow.tools.glob import GlobResult
from winnow.tools.grep import GrepResult
from winnow.tools.index import IndexResult
from winnow.tools.index_status import IndexStatusResult
from winnow.tools.keyword_search import KeywordSearchResult
from winnow.tools.read_file import ReadFileResult
from winnow.tools.read_file import Span
from winnow.tools.refresh import RefreshResult
from winnow.tools.search_docs import SearchDocsResult
from winnow.tools.search_metrics import SearchMetricsResult
from winnow.tools.semantic_search import SemanticSearchResult
from winnow.tools.tools import ToolsResult
from winnow.tools.tree import TreeResult

class ToolMethods:
    async def audit(
        self,
        *,
        limit: int = 50,
    ) -> AuditResult:
        """Show what left this machine: every request to a language model, from all workspaces."""
    async def bash(
        self,
        command: str,
        *,
        timeout: int = 30,
        max_tokens: int = 0,
    ) -> BashResult:
        """Run one pipeline of read-only programs in the workspace's root."""
    async def code_search(
        self,
        query: str,
        *,
        max_tokens: int = 0,
        cursor: str = '',
        path: str | PathLike[str] = '',
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        file_types: Sequence[str] = (),
        search_type: Literal['auto', 'text', 'semantic', 'symbol', 'file'] = 'auto',
        ranker: Literal['local', 'auto', 'llm'] = 'local',
        model: str = '',
        limit: int = 20,
        explain: bool = False,
        enable_indexing: bool | None = None,
        repositories: Sequence[str] = (),
    ) -> CodeSearchResult:
        """Search code and documentation with one query: chooses between files, symbols, text and meaning, and reports its choice."""
    async def consent(
        self,
        *,
        action: Literal['show', 'give', 'refuse', 'withdraw'] = 'show',
        destinations: Sequence[str] = (),
    ) -> ConsentResult:
        """Decide whether code of this workspace may be sent to a language model on another machine."""
    async def document_text(
        self,
        path: str | PathLike[str],
        *,
        max_tokens: int = 0,
        cursor: str = '',
        start: int = 1,
        end: int | None = None,
        engine: Literal['builtin', 'rga'] = 'builtin',
    ) -> DocumentTextResult:
        """Read a document (PDF, office formats, e-books, mail, archives) as text, with a ruler at the start of each page, sheet or file."""
    async def feedback(
        self,
        search_id: str,
        path: str | PathLike[str],
        action: Literal['opened', 'kept', 'dismissed', 'up', 'down'],
        *,
        rank: int = 0,
    ) -> FeedbackResult:
        """Record what happened to a search result: it was opened, kept, dismissed or rated."""
    async def find_references(
        self,
        *,
        max_tokens: int = 0,
        cursor: str = '',
        path: str | PathLike[str] = '',
        line: int = 0,
        column: int = 0,
        name: str = '',
        include_declaration: bool = True,
        kinds: Sequence[Literal['call', 'import', 'type', 'read', 'write', 'definition']] = (),
        callees: bool = False,
        certain_only: bool = False,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        max_results: int = 50,
        repositories: Sequence[str] = (),
    ) -> FindReferencesResult:
        """Find where a symbol is used: calls, imports, types, reads and writes, without namesakes."""
    async def find_symbol(
        self,
        name: str,
        *,
        max_tokens: int = 0,
        cursor: str = '',
        path: str | PathLike[str] = '',
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        file_types: Sequence[str] = (),
        kind: Literal['any', 'function', 'method', 'class', 'struct', 'trait', 'interface', 'enum', 'type', 'const', 'variable', 'field', 'property', 'module', 'namespace', 'constructor', 'enum_member', 'macro', 'union', 'object', 'event', 'operator', 'section'] = 'any',
        exact: bool = False,
        max_results: int = 20,
        repositories: Sequence[str] = (),
    ) -> FindSymbolResult:
        """Find where functions, classes and other symbols are defined, by name."""
    async def glob(
        self,
        pattern: str,
        *,
        max_tokens: int = 0,
        cursor: str = '',
        path: str | PathLike[str] = '',
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        file_types: Sequence[str] = (),
        include_ignored: bool = False,
        include_hidden: bool = False,
        include_submodules: bool = False,
        scope: Literal['workspace', 'changed', 'open'] = 'workspace',
        follow_symlinks: bool = False,
        sort_by: Literal['path', 'mtime', 'size'] = 'path',
        max_results: int = 100,
    ) -> GlobResult:
        """Find files whose path matches a glob pattern."""
    async def grep(
        self,
        pattern: str,
        *,
        max_tokens: int = 0,
        cursor: str = '',
        path: str | PathLike[str] = '',
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        file_types: Sequence[str] = (),
        include_ignored: bool = False,
        include_hidden: bool = False,
        include_submodules: bool = False,
        scope: Literal['workspace', 'changed', 'open'] = 'workspace',
        follow_symlinks: bool = False,
        literal: bool = False,
        case_sensitive: bool = True,
        word: bool = False,
        multiline: bool = False,
        include_binary: bool = False,
        encoding: str = '',
        context_lines: int = 2,
        max_results: int = 50,
        mode: Literal['matches', 'files', 'counts', 'line_counts'] = 'matches',
        repositories: Sequence[str] = (),
    ) -> GrepResult:
        """Search for exact text or a regular expression in files."""
    async def index(
        self,
        action: Literal['build', 'pause', 'resume', 'clear'],
    ) -> IndexResult:
        """Build, pause, resume or delete the index that semantic_search, code_search and find_symbol use."""
    async def index_status(
        self,
    ) -> IndexStatusResult:
        """Show the state of the index: indexed and excluded files, size, memory, workers, how changes are detected, the last error."""
    async def keyword_search(
        self,
        query: str,
        search_terms: Sequence[str],
        *,
        max_tokens: int = 0,
        cursor: str = '',
        path: str | PathLike[str] = '',
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        file_types: Sequence[str] = (),
        include_ignored: bool = False,
        include_hidden: bool = False,
        include_submodules: bool = False,
        max_results: int = 20,
        ranker: Literal['auto', 'llm', 'local'] = 'auto',
        model: str = '',
        payload: Literal['matches', 'compact'] = 'matches',
        broad_terms: Literal['skip', 'shrink'] = 'skip',
        include_documents: bool = False,
        dry_run: bool = False,
        repositories: Sequence[str] = (),
    ) -> KeywordSearchResult:
        """keyword_search locates files with a search-and-filter approach."""
    async def read_file(
        self,
        path: str | PathLike[str],
        *,
        max_tokens: int = 0,
        cursor: str = '',
        spans: Sequence[Span | str] = (),
        outline: bool = False,
        max_lines: int = 500,
        repository: str = '',
        commit: str = '',
        line_endings: Literal['normalize', 'keep'] = 'normalize',
    ) -> ReadFileResult:
        """Read line ranges of a file, several in one call."""
    async def refresh(
        self,
        *,
        paths: Sequence[str] = (),
        wait: bool = True,
    ) -> RefreshResult:
        """Index changed files now: the named ones, or all that differ from the index."""
    async def search_docs(
        self,
        query: str,
        *,
        max_tokens: int = 0,
        cursor: str = '',
        path: str | PathLike[str] = '',
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        file_types: Sequence[str] = (),
        include_ignored: bool = False,
        include_hidden: bool = False,
        include_submodules: bool = False,
        literal: bool = False,
        case_sensitive: bool = False,
        context_lines: int = 2,
        max_count: int = 100,
        max_results: int = 200,
        engine: Literal['auto', 'rga', 'builtin'] = 'auto',
        timeout: float = 30,
    ) -> SearchDocsResult:
        """Search through documents (PDF, Word, Excel, PowerPoint, OpenDocument, e-books, mail, archives, databases)."""
    async def search_metrics(
        self,
    ) -> SearchMetricsResult:
        """Show statistics of the searches in this workspace, and how to improve them."""
    async def semantic_search(
        self,
        query: str,
        *,
        max_tokens: int = 0,
        cursor: str = '',
        path: str | PathLike[str] = '',
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        file_types: Sequence[str] = (),
        top_k: int = 10,
        explain: bool = False,
        repositories: Sequence[str] = (),
    ) -> SemanticSearchResult:
        """Find code by what it does or is about, in plain words."""
    async def tools(
        self,
    ) -> ToolsResult:
        """List the tools with their descriptions and input schemas, to offer to a language model."""
    async def tree(
        self,
        *,
        max_tokens: int = 0,
        cursor: str = '',
        path: str | PathLike[str] = '.',
        depth: int = 3,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        show_hidden: bool = False,
        show_sizes: bool = False,
        include_ignored: bool = False,
        include_submodules: bool = False,
        max_entries: int = 500,
    ) -> TreeResult:
        """Show the structure of a folder as a tree, with counts of omitted entries."""
