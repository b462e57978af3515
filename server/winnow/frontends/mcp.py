"""The tools as an MCP server on standard input and output, for agents.

The only module that imports the package `mcp`, which `winnow-ls[mcp]` installs. It translates the
tools' definitions, calls and answers to MCP.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import anyio
import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

import winnow
from winnow.config import Config
from winnow.errors import SearchError, UnknownParam
from winnow.frontends import server_process
from winnow.frontends.incidents import new_incident
from winnow.frontends.lsp.decoding import Refusal
from winnow.frontends.mcp_input import MessageLines
from winnow.search.answer.shorten import measured_as
from winnow.search.index.background import IndexKeeper
from winnow.tools import TOOLS, for_agents, short_list
from winnow.tools.correction import Correction, corrected
from winnow.tools.registry import BUDGET, Tool
from winnow.tools.wording import for_short_list, worded
from winnow.types import Answer, Progress, Result
from winnow.workspace import EngineWorkspace, Lifetime

logger = logging.getLogger(__name__)

# The default limit of an answer. Agents read many answers and pay for each again in every turn.
# Some refuse answers of more than 25,000 tokens.
MAX_TOKENS = 8_000
# Documents on one page of `resources/list`.
PAGE = 100
INSTRUCTIONS = f"""\
Searches the current code and documents of one workspace.
Start with code_search (one query: file, symbol, text or question), or keyword_search if the words \
are vague. Use grep, glob and find_references for exact answers, and search_docs for PDFs and \
office documents.
Answers are shortened to {BUDGET}. `completeness` and `warnings` report what is missing; `cursor` \
continues an answer."""
SHORT_INSTRUCTIONS = """\
Searches the current code of one workspace. Start with `search`; then `read` the places."""

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


def serve(
    folders: Sequence[Path],
    config: Config,
    *,
    max_tokens: int = MAX_TOKENS,
    structured: bool = False,
    all_tools: bool = False,
) -> int:
    """Serve the client on standard input and output until it exits. Return the exit code.

    Answers have at most ``max_tokens`` unless the caller sets a limit. They are sent as text and,
    if ``structured``, also as data. Without ``all_tools``, only those of the short list are there.
    """

    async def converse() -> int:
        session = _Session(folders, config, max_tokens, structured, all_tools=all_tools)
        return await session.converse()

    return server_process.run(converse())


class _Session:
    """One client: its requests and the background work of its workspace."""

    def __init__(
        self,
        folders: Sequence[Path],
        config: Config,
        max_tokens: int,
        structured: bool,
        environment: Mapping[str, str] | None = None,
        *,
        all_tools: bool = False,
    ) -> None:
        self.workspace = EngineWorkspace(folders, config, environment, lifetime=Lifetime.SERVER)
        self.max_tokens = max_tokens
        self.structured = structured
        self.all_tools = all_tools
        self._keeper = IndexKeeper(self.workspace)
        self._ending: asyncio.Task[None] | None = None
        self._server: Server[Any] = Server(
            "winnow",
            version=winnow.__version__,
            instructions=INSTRUCTIONS if all_tools else SHORT_INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )

    async def converse(self) -> int:
        workspace = self.workspace
        server_process.end_on_signals(workspace, (signal.SIGTERM, signal.SIGINT))
        # Duplicated: at the exit, a thread may still wait for a line.
        stdin = os.dup(sys.stdin.fileno())
        self._ending = asyncio.create_task(server_process.end_with_input(workspace, stdin))

        def refuse(refusal: Refusal) -> None:
            error = types.ErrorData(code=refusal.code, message=refusal.problem)
            answer = types.JSONRPCError(jsonrpc="2.0", id=refusal.id, error=error)
            anyio.from_thread.run(write.send, SessionMessage(answer))

        try:
            lines = MessageLines(os.fdopen(stdin, "rb", closefd=False), _is_message, refuse)
            file = anyio.wrap_file(cast(IO[str], lines))
            async with stdio_server(stdin=file) as (read, write):
                options = self._server.create_initialization_options()
                await self._server.run(read, write, options)
        except Exception as error:
            if not _is_broken_pipe(error):
                raise
            logger.info("The client has exited: %s", error)
        finally:
            # The SDK's writing threads may be blocked by a client that doesn't read.
            server_process.HardEnd().arm(0, workspace.processes.close)
            self._ending.cancel()
            await asyncio.gather(self._ending, return_exceptions=True)
            await self._keeper.aclose()
            await workspace.aclose()
        return 0

    # --- tools -----------------------------------------------------------------------------

    async def list_tools(self, _: Context, __: object) -> types.ListToolsResult:
        # Not earlier: agents start servers that they never use.
        self._keeper.begin_if_indexed()
        tools = self._offered.values()
        describe = self._description if self.all_tools else self._short_description
        return types.ListToolsResult(tools=list(map(describe, tools)))

    @property
    def _offered(self) -> Mapping[str, Tool[Any, Any]]:
        return for_agents(self.workspace.config.is_on) if self.all_tools else short_list()

    def _short_description(self, tool: Tool[Any, Any]) -> types.Tool:
        assert tool.short is not None
        return types.Tool(
            name=tool.short.name,
            description=tool.short.description,
            input_schema=tool.short_schema(tool.short),
            output_schema=_bare(tool.output_schema) if self.structured else None,
            annotations=types.ToolAnnotations(read_only_hint=not tool.effects.changes),
        )

    def _description(self, tool: Tool[Any, Any]) -> types.Tool:
        schema, effects = tool.input_schema, tool.effects
        if BUDGET in schema["properties"]:
            budget = {**schema["properties"][BUDGET], "default": self.max_tokens}
            schema = {**schema, "properties": {**schema["properties"], BUDGET: budget}}
        return types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=schema,
            output_schema=_bare(tool.output_schema) if self.structured else None,
            annotations=types.ToolAnnotations(
                title=tool.title,
                read_only_hint=not effects.changes,
                destructive_hint=effects.destroys,
                idempotent_hint=effects.repeatable,
                open_world_hint=effects.reaches_out,
            ),
        )

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self._offered.get(params.name)
        if tool is None:
            problem = f"unknown or disabled tool {params.name[:100]!r}"
            if not self.all_tools:
                problem += f"; offered: {', '.join(self._offered)} (winnow mcp --tools all: more)"
            raise MCPError(types.INVALID_PARAMS, problem)
        raw = dict(params.arguments or {})
        if tool.short and not self.all_tools:
            raw = tool.short_call(tool.short, raw)
        # Models that must name every param send null for those they don't use.
        if raw.get(BUDGET) is None and any(field.name == BUDGET for field in tool.fields):
            raw[BUDGET] = self.max_tokens
        try:
            result = await self._call(context, tool, raw)
        except SearchError as error:
            # A result for the model, which can act on it, not a protocol error.
            text = error.message if self.all_tools else _error_for_short_list(error, tool)
            if correction := corrected(tool, params.arguments or {}, error):
                text += f"\n{_corrected_call(params.name, correction)}"
            return types.CallToolResult(
                content=[types.TextContent(text=text)],
                is_error=True,
                _meta={"winnow/error": error.data},
            )
        if isinstance(result, Answer) and not self.all_tools:
            result = worded(result, for_short_list)
            if offer := getattr(result, "index_offer", None):
                text = f"answers are better after `{offer.command}` in a shell"
                offer = msgspec.structs.replace(offer, text=text)
                result = msgspec.structs.replace(result, index_offer=offer)
        return types.CallToolResult(
            content=[types.TextContent(text=tool.plain(result))],
            structured_content=msgspec.to_builtins(result) if self.structured else None,
        )

    async def _call(self, context: Context, tool: Tool[Any, Any], raw: object) -> Result:
        """Call a tool. Raise SearchError, or MCPError with an incident id for an internal error."""
        measured = contextlib.nullcontext() if self.structured else measured_as(tool.plain)
        try:
            with measured:
                async with _progress(context) as progress:
                    return await _undisturbed(tool.call(self.workspace, raw, progress))
        except SearchError:
            raise
        except Exception:
            incident = new_incident()
            logger.exception("Incident %s", incident.id)
            data = {"incident": incident.id}
            raise MCPError(types.INTERNAL_ERROR, incident.message, data) from None
        finally:
            self._keeper.begin_if_indexed()

    # --- documents -------------------------------------------------------------------------

    async def list_resources(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        # Not needed to start a server.
        from winnow.search.documents.search import documents_of, text_uri

        after = (params.cursor if params else None) or ""
        try:
            documents = await _undisturbed(documents_of(self.workspace))
        except SearchError as error:
            raise MCPError(types.INTERNAL_ERROR, error.message, error.data) from None
        documents = [document for document in documents if document.path > after]
        page = documents[:PAGE]
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=text_uri(document),
                    name=document.path,
                    description=f"The text of this document ({document.format})",
                    mime_type="text/plain",
                )
                for document in page
            ],
            next_cursor=page[-1].path if len(documents) > PAGE else None,
        )

    async def list_templates(self, _: Context, __: object) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template="winnow-doc://{+path}",
            name="Text of a document",
            description="The text of a PDF, office document, e-book, mail or archive, by absolute"
            " path; search_docs returns these URIs.",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        if not uri.startswith("winnow-doc:"):
            raise MCPError(types.INVALID_PARAMS, f"no such resource: {uri[:200]}")
        tool = TOOLS["document_text"]
        try:
            # The fragment is for editors: a resource is the complete text.
            result = await self._call(context, tool, {"path": uri.partition("#")[0]})
        except SearchError as error:
            raise MCPError(types.INVALID_PARAMS, error.message, error.data) from None
        text = types.TextResourceContents(uri=uri, mime_type="text/plain", text=tool.plain(result))
        return types.ReadResourceResult(contents=[text])


def _corrected_call(name: str, correction: Correction) -> str:
    """Return a corrected call as text, with the names of the params that it leaves out."""
    lacks = f", without {', '.join(f'`{one}`' for one in correction.dropped)}"
    call = msgspec.json.encode(correction.call).decode()
    return f"Corrected call{lacks * bool(correction.dropped)}: {name} {call}"


def _error_for_short_list(error: SearchError, tool: Tool[Any, Any]) -> str:
    """Return the message of an error with the tools and params of the short list."""
    if isinstance(error, UnknownParam) and tool.short:
        return UnknownParam(error.data["field"], tool.short.params).message
    return for_short_list(error.message)


def _bare(schema: Any) -> Any:
    """Return a schema without descriptions. Programs validate answers with it, and some agents pass
    it to their model, where descriptions would quadruple the tokens of all tools."""
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _bare(member) for name, member in value.items()}
        if key in ("properties", "$defs")
        else _bare(value)
        for key, value in schema.items()
        if key not in ("title", "description")
    }


# --- progress and cancellation -------------------------------------------------------------


class _Progress(Progress):
    """Progress of one request. A new message replaces one that hasn't been sent."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._news = asyncio.Event()
        self._is_over = False
        self._message, self._percentage = "", 0
        self._step = 0.0

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None:
        self._message, self._percentage = message, percentage or 0
        self._news.set()

    def finish(self) -> None:
        """Send the last message and stop."""
        self._is_over = True
        self._news.set()

    async def send(self) -> None:
        """Send messages until the request is finished."""
        while self._message or not self._is_over:
            await self._news.wait()
            self._news.clear()
            if self._message:
                message, self._message = self._message, ""
                # MCP's progress must increase with each message; most messages have no percentage.
                self._step = max(self._step + 0.01, float(self._percentage))
                total = 100.0 if self._percentage else None
                await self._session.report_progress(self._step, total, message)


@contextlib.asynccontextmanager
async def _progress(context: Context) -> AsyncIterator[Progress]:
    """Return the progress of a request, which is sent only if the client requested it."""
    if context.meta is None or context.meta.get("progress_token") is None:
        yield Progress()
        return
    progress = _Progress(context.session)
    sending = asyncio.create_task(progress.send())
    try:
        yield progress
        progress.finish()
        await sending
    finally:
        sending.cancel()


async def _undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Run the work in its own task, pass on a cancellation once, and wait for its end.

    anyio, which the SDK uses, cancels again at every wait, even at the wait for a killed child.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(task, return_exceptions=True)
        raise


def _is_message(value: Any) -> bool:
    """Return True if the SDK accepts a value as a message."""
    try:
        types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValueError:
        return False
    return True


def _is_broken_pipe(error: BaseException) -> bool:
    """Return True if an error, or each error of a group, is a broken connection."""
    inner = getattr(error, "exceptions", None)
    if inner is not None:
        return all(map(_is_broken_pipe, inner))
    return isinstance(error, ConnectionError)
