"""Define a tool once; every front end is derived from the definition.

A tool is a documented coroutine of a workspace, typed params and a progress callable. Its name,
docstring and params give the LSP request, the subcommand with its help, and the schema for agents.
Params arrive as plain data and are validated inside the call, so that every malformed request gets
an answer.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints

import msgspec
from msgspec import inspect as inspection

from winnow.errors import InvalidParams, SearchError, UnknownParam
from winnow.text.ignore_files import with_restarts
from winnow.text.sanitize import as_typed
from winnow.tools.recording import Learn, RecordingProgress, ToolCall
from winnow.tools.terminal import FOR_AGENTS, Style
from winnow.types import Params, Progress, Result, SearchAnswer
from winnow.workspace import EngineWorkspace

P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Result)
S = TypeVar("S", bound=msgspec.Struct)
Run = Callable[[EngineWorkspace, P, Progress], Awaitable[R]]

# Control characters that no search matches and no terminal should get. Tabs and line ends are text.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Params that limit the number of results: people set each with `--limit`.
LIMITS = frozenset(("max_results", "limit", "top_k", "max_entries", "max_lines"))
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{0,18}))?")
_START_END = ["start", "end"]
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# The param for what people type or paste.
QUERY = "query"
# The param that limits the tokens of an answer.
BUDGET = "max_tokens"
# The param that names repositories of a search cluster.
REPOSITORIES = "repositories"
# A result of the short list's search with its lines.
TOKENS_OF_RESULT = 100
# Longer than any param may be.
TEXT_CHARACTERS = 1_000_000


class ToolField(msgspec.Struct, frozen=True):
    """A field of params or of a result: its name, type without annotations, and description.

    `generated` is True if the default is a new value each time.
    """

    name: str
    kind: inspection.Type
    description: str
    required: bool
    default: object
    generated: bool = False

    @property
    def option(self) -> str:
        """The option of a command."""
        return "--limit" if self.name in LIMITS else "--" + self.name.replace("_", "-")


class CommandHelp(NamedTuple):
    """The help of a command, for people: a summary and two examples."""

    summary: str
    example: str = ""
    other_example: str = ""

    @property
    def examples(self) -> list[str]:
        """The examples, as they are typed."""
        return [example for example in (self.example, self.other_example) if example]

    @property
    def title(self) -> str:
        """The first sentence, as `winnow --help` lists it."""
        first = self.summary.partition(".\n")[0].rstrip(".")
        return first[:1].lower() + first[1:]

    @property
    def text(self) -> str:
        """The summary and the examples, as the command's own `--help` shows them."""
        shown = "".join(f"\n  {example}" for example in self.examples)
        return f"{self.summary}\n\nExamples:{shown}" if shown else self.summary


class ShortTool(NamedTuple):
    """A tool in the short list for agents, which pay for each word of it in every turn.

    ``params`` are those that are offered, each with its description; ``defaults`` are others than
    those of the tool.
    """

    name: str
    description: str
    params: Mapping[str, str]
    defaults: Mapping[str, Any] = MappingProxyType({})


class Effects(msgspec.Struct, frozen=True):
    """The side effects of a call, for clients that ask the user before some calls.

    - `changes`: it changes stored state (apart from the search history)
    - `destroys`: it deletes some of it
    - `repeatable`: a second equal call changes nothing more
    - `reaches_out`: it may send data to another machine
    """

    changes: bool = False
    destroys: bool = False
    repeatable: bool = True
    reaches_out: bool = False


class Tool(Generic[P, R]):
    """A tool: a documented coroutine and what it declares, see :class:`tool`."""

    def __init__(self, run: Run[P, R], declared: tool[R]) -> None:
        hints = get_type_hints(run)
        text = declared.text
        self.run = run
        self.text = text
        self.plain = declared.plain or (lambda result: text(result, FOR_AGENTS, None))
        self.command = declared.command or run.__name__.replace("_", "-")
        self.positional = frozenset(declared.positional)
        self.example = declared.example
        self.raises: tuple[type[SearchError], ...] = (InvalidParams, *declared.raises)
        self.partial = declared.partial
        self.switch = declared.switch
        self.learn = declared.learn
        self.effects = declared.effects
        self.for_agents = declared.for_agents
        self.of_open_documents = declared.of_open_documents
        self.for_people = declared.for_people
        self.uses_index = declared.uses_index
        self.old_commands = tuple(declared.old_commands)
        self.short = declared.short
        self.name: str = run.__name__
        self.params: type[P] = hints["params"]
        self.result: type[R] = hints["return"]
        self.description = inspect.cleandoc(run.__doc__ or "")
        self.command_help = declared.command_help or CommandHelp(self.description)

    @property
    def method(self) -> str:
        """The LSP method: `keyword_search` is `$/keywordSearch`."""
        first, *rest = self.name.split("_")
        return "$/" + first + "".join(word.title() for word in rest)

    @property
    def title(self) -> str:
        """The name for people: `keyword_search` is `Keyword search`."""
        return self.name.replace("_", " ").capitalize()

    @property
    def takes_paths(self) -> bool:
        """True if the subcommand accepts several paths, as globs of the params."""
        return "path" in self.positional and hasattr(self.params, "include")

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The self-contained JSON Schema of the params."""
        _, components = msgspec.json.schema_components([self.params], ref_template="{name}")
        schema: dict[str, Any] = inlined(components[self.params.__name__], components)
        schema.pop("title", None)
        schema.pop("description", None)
        return schema

    def short_schema(self, short: ShortTool) -> dict[str, Any]:
        """The schema of the params in the short list: without bounds, which errors explain."""
        all_ = self.input_schema["properties"]
        properties = {}
        for name, description in short.params.items():
            schema = {key: all_[name][key] for key in ("type", "enum") if key in all_[name]}
            if schema.get("type") == "array":
                schema["items"] = {"type": "string"}
                if "enum" in (items := all_[name]["items"]):
                    schema["items"]["enum"] = items["enum"]
            properties[name] = {**schema, "description": description}
        required = [name for name in self.input_schema.get("required", ()) if name in properties]
        return {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def short_call(self, short: ShortTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params of a call in the short list, with the defaults of that list.

        A larger `limit` gets room for its results, unless the caller limits the tokens.
        """
        # Models that must name every param send null for those they don't use.
        given = {name: value for name, value in arguments.items() if value is not None}
        params = {**short.defaults, **given}
        limit = params.get("limit")
        if isinstance(limit, int) and BUDGET in params and BUDGET not in given:
            params[BUDGET] = max(params[BUDGET], TOKENS_OF_RESULT * limit)
        return params

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The self-contained JSON Schema of the result, with its `$defs`."""
        _, components = msgspec.json.schema_components([self.result], ref_template="#/$defs/{name}")
        schema: dict[str, Any] = components.pop(self.result.__name__)
        return {**schema, "$defs": components}

    async def call(self, workspace: EngineWorkspace, raw: object, progress: Progress) -> R:
        """Run the tool with params as plain data. Raise InvalidParams and the tool's own errors."""
        params = self.parse(self._with_repositories(workspace, raw))
        if self.learn is None or not workspace.config.learning.enabled:
            return await with_restarts(lambda: self._run(workspace, params, progress))
        began, recording = time.perf_counter(), RecordingProgress(progress)
        result = await with_restarts(lambda: self._run(workspace, params, recording))
        seconds = time.perf_counter() - began
        call = ToolCall(self.name, params, result, seconds, recording.partials)
        self.learn(workspace.history, call)
        return result

    def _with_repositories(self, workspace: EngineWorkspace, raw: object) -> object:
        """Return the params of a call, with the repositories of the user's settings if this is a
        search that names none. A language model that is required gets no texts of a cluster."""
        names = workspace.config.cluster.repositories
        if not names or not isinstance(raw, dict) or raw.get("ranker") == "llm":
            return raw
        if REPOSITORIES not in self.params.__struct_fields__ or raw.get(REPOSITORIES) is not None:
            return raw
        return {**raw, REPOSITORIES: list(names)}

    async def _run(self, workspace: EngineWorkspace, params: P, progress: Progress) -> R:
        if self.of_open_documents and workspace.buffers and workspace.has_no_folder:
            # Only editors without a folder need it.
            from winnow.search.open_documents import search_open_documents

            run: Callable[..., Any] = self.run
            result: R = await search_open_documents(run, workspace, params, progress)
        else:
            result = await self.run(workspace, params, progress)
        return _with_unsearched_folders(workspace, result)

    def parse(self, raw: object) -> P:
        """Convert plain data to typed params. Raise InvalidParams, which names the field."""
        raw = {} if raw is None else raw
        if isinstance(raw, dict):
            kinds = {field.name: field.kind for field in self.fields}
            optional = {field.name for field in self.fields if not field.required}
            # Models that must name every field send null for unused ones.
            raw = {
                key: _as_list(key, kinds.get(key), value)
                for key, value in raw.items()
                if value is not None or key not in optional
            }
        return typed_params(raw, self.params)

    @cached_property
    def summary(self) -> str:
        """The first sentence of the description."""
        return self.description.partition("\n")[0].partition(". ")[0].rstrip(".") + "."

    @cached_property
    def fields(self) -> list[ToolField]:
        """The fields of the params."""
        return fields_of(self.params)


def _with_unsearched_folders(workspace: EngineWorkspace, result: R) -> R:
    """Return a result that is incomplete if the search left out a folder of the workspace."""
    if not isinstance(result, SearchAnswer) or not (unsearched := workspace.unsearched_folders()):
        return result
    from winnow.search.answer.completeness import with_reasons

    reasons = [warning for warning in result.warnings if warning in unsearched]
    return msgspec.structs.replace(
        result,
        completeness=with_reasons(result.completeness, *reasons),
        warnings=[warning for warning in result.warnings if warning not in reasons],
    )


class tool(msgspec.Struct, Generic[R], frozen=True, kw_only=True):  # noqa: N801 - a decorator
    """Makes a documented coroutine a tool.

    - `text` renders a result, with paths relative to a folder if it is for people
    - `plain` renders it for agents, if that differs by more than the style
    - `command_help` is the help of the subcommand, by default the description
    - `command` is the subcommand, `positional` the params that it also accepts by position
    - `short` is the tool in the short list for agents, if it is there
    - `old_commands` are earlier names of the subcommand, which still work
    - `example` has params for the project in `docs/example`, for the documentation
    - `raises` are the errors besides InvalidParams
    - `partial` is the type of partial results, if there are any
    - `switch` is the setting that offers the tool to clients, such as `bash.enabled`, if it needs
      one; a call at the command line does not
    - `for_people` changes the default params of a call at the command line
    - `learn` records a call in the search history
    - `uses_index` is True for a search that an index improves: the first one begins it
    - `effects` are the side effects of a call
    - `for_agents` is False for a tool that no model should call
    - `of_open_documents`: with no folder open, the tool searches the open documents
    """

    text: Callable[[R, Style, str | None], str]
    plain: Callable[[R], str] | None = None
    command: str = ""
    positional: Sequence[str] = ()
    example: Mapping[str, Any]
    raises: Sequence[type[SearchError]] = ()
    partial: type[Result] | None = None
    switch: str = ""
    learn: Learn | None = None
    effects: Effects = Effects()
    for_agents: bool = True
    of_open_documents: bool = False
    for_people: Mapping[str, Any] = MappingProxyType({})
    command_help: CommandHelp | None = None
    uses_index: bool = False
    old_commands: Sequence[str] = ()
    short: ShortTool | None = None

    def __call__(self, run: Run[P, R]) -> Tool[P, R]:
        return Tool(run, self)


def fields_of(struct: type[msgspec.Struct]) -> list[ToolField]:
    """Return the fields of a struct, in order."""
    info = inspection.type_info(struct)
    assert isinstance(info, inspection.StructType)
    return [_field(field) for field in info.fields]


def _field(field: inspection.Field) -> ToolField:
    kind, description = field.type, ""
    while isinstance(kind, inspection.Metadata):
        description = (kind.extra_json_schema or {}).get("description", description)
        kind = kind.type
    default, generated = field.default, False
    if default is msgspec.NODEFAULT and not field.required:
        default = None  # UNSET, which a schema has not
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
        generated = isinstance(default, str)
    return ToolField(field.encode_name, kind, description, field.required, default, generated)


def inlined(schema: Any, components: Mapping[str, Any]) -> Any:
    """Return a schema with each reference replaced by its target."""
    if isinstance(schema, dict):
        if name := schema.get("$ref"):
            return inlined(components[name], components)
        result = {key: inlined(value, components) for key, value in schema.items()}
        if "enum" in result and all(isinstance(value, str) for value in result["enum"]):
            result = {"type": "string", **result}  # some clients require it
        if isinstance(result.get("properties"), dict) and list(result["properties"]) == _START_END:
            return {"anyOf": [result, {"type": "string", "pattern": _RANGE.pattern}]}
        return result
    return [inlined(item, components) for item in schema] if isinstance(schema, list) else schema


def is_list_of_ranges(kind: inspection.Type | None) -> bool:
    """Return True for a list of structs with `start` and `end`, which also accepts `10-20`."""
    if not isinstance(kind, inspection.ListType):
        return False
    item = kind.item_type
    return (
        isinstance(item, inspection.StructType)
        and [field.encode_name for field in item.fields] == _START_END
    )


def _as_list(key: str, kind: inspection.Type | None, value: object) -> object:
    """Wrap a bare string or range, which models send instead of a list with one item. Parse ranges
    that are written as text."""
    if not isinstance(kind, inspection.ListType):
        return value
    has_ranges = is_list_of_ranges(kind)
    if isinstance(value, str) or (isinstance(value, dict) and has_ranges):
        value = [value]
    if isinstance(value, list) and has_ranges:
        return [_range(key, place, item) for place, item in enumerate(value)]
    return value


def _range(field: str, place: int, value: object) -> object:
    """Parse a range written as text: `10-20`, `10`, or `10-` for an open end."""
    if not isinstance(value, str):
        return value
    found = _RANGE.fullmatch(value.strip())
    if found is None:
        raise InvalidParams(f"{field}[{place}]", "expected a range such as 10-20, 10 or 10-")
    start = int(found[1])
    end = start if found[2] is None else int(found[2]) if found[2] else None
    return {"start": start, "end": end}


def typed_params(raw: object, params: type[S]) -> S:
    """Convert plain data to a struct; a query loses the invisible characters of a pasted text.
    Raise InvalidParams, which names the field."""
    if not isinstance(raw, dict):
        raise InvalidParams("params", f"expected an object, got {_type_name(raw)}")
    raw = _with_typed_queries(raw)
    check_texts(raw, "")
    try:
        return msgspec.convert(raw, params)
    except msgspec.ValidationError as error:
        raise _invalid(str(error), fields_of(params)) from None


def _with_typed_queries(raw: object) -> object:
    if not isinstance(raw, dict):
        return raw
    return {
        key: as_typed(value)
        if key == QUERY and isinstance(value, str)
        else _with_typed_queries(value)
        for key, value in raw.items()
    }


def check_texts(value: object, path: str) -> None:
    """Raise InvalidParams for a text that is invalid Unicode, has control characters or is long."""
    if isinstance(value, str):
        if len(value) > TEXT_CHARACTERS:
            raise InvalidParams(path, f"longer than {TEXT_CHARACTERS} characters")
        if _SURROGATE.search(value):
            raise InvalidParams(path, "not valid Unicode text (half of a surrogate pair)")
        if found := _CONTROL.search(value):
            raise InvalidParams(path, f"control character {found[0]!r}")
    elif isinstance(value, dict):
        for key, item in value.items():
            name = str(key)
            if not path and (_SURROGATE.search(name) or _CONTROL.search(name)):
                raise InvalidParams(ascii(name), "unknown field")
            check_texts(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            check_texts(item, f"{path}[{place}]")


_JSON_NAMES = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}


def _invalid(message: str, fields: Sequence[ToolField]) -> InvalidParams:
    """Turn msgspec's message into one that begins with the field: "`search_terms[1]`: expected …".

    For an unknown field or value, list the valid ones, so that an agent can fix its call at once.
    """
    problem, _, path = message.partition(" - at `$")
    path = path.rstrip("`").removeprefix(".")
    if found := re.search(r"(missing required|contains unknown) field `(.*)`", problem, re.S):
        if found[1] == "contains unknown" and not path:
            return UnknownParam(found[2], [field.name for field in fields])
        problem = "required" if found[1].startswith("missing") else "unknown field"
        path = f"{path}.{found[2]}" if path else found[2]
    if problem.startswith("Invalid enum value"):
        kinds = (field.kind for field in fields if field.name == re.split(r"[.\[]", path)[0])
        problem += f"; valid values: {', '.join(chain.from_iterable(map(choices_of, kinds)))}"
    problem = re.sub(r"`(\w+)`", lambda word: _JSON_NAMES.get(word[1], word[1]), problem).replace(
        "Expected", "expected"
    )
    return InvalidParams(path, problem)


def choices_of(kind: inspection.Type) -> list[str]:
    """Return the values that a field, or each item of it, may have."""
    if isinstance(kind, inspection.ListType):
        return choices_of(kind.item_type)
    return list(map(str, kind.values)) if isinstance(kind, inspection.LiteralType) else []


def _type_name(value: object) -> str:
    return _JSON_NAMES.get(type(value).__name__, {"list": "array"}.get(type(value).__name__, "?"))
