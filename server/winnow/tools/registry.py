"""The mechanism of tools: one definition, from which every door is derived.

A tool is a documented coroutine of a workspace, typed params and a progress callable. Its name,
docstring and params give the LSP request, the subcommand with its help, and the schema that an
agent is handed. Params arrive as plain data and are validated inside the call, so that every
malformed request gets its answer.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec
from msgspec import inspect as inspection

from winnow.config import Config
from winnow.errors import InvalidParams, SearchError
from winnow.text.ignore_files import with_restarts
from winnow.tools.recording import Learn, RecordingProgress, ToolCall
from winnow.tools.terminal import Style
from winnow.types import Params, Progress, Result
from winnow.workspace import Workspace

P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Result)
Run = Callable[[Workspace, P, Progress], Awaitable[R]]

# Text that no search can be for, and that no terminal should be sent. Tab and line ends are text.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{0,18}))?")
_START_END = ["start", "end"]
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# More than any param may have.
TEXT_CHARACTERS = 1_000_000


class Field(msgspec.Struct, frozen=True):
    """A field of params or of a result: name, type without annotations, and its sentence.

    One that is ``made`` gets another value each time that nobody gives it one.
    """

    name: str
    kind: inspection.Type
    description: str
    required: bool
    default: object
    made: bool = False


class Effects(msgspec.Struct, frozen=True):
    """What a call does beside answering, for whoever decides whether to ask somebody before.

    It ``changes`` what is kept for later calls (beside what every search takes down), and perhaps
    ``destroys`` some of that; ``repeatable`` says that a second equal call changes nothing more.
    ``reaches_out`` says that it may send something to another machine.
    """

    changes: bool = False
    destroys: bool = False
    repeatable: bool = True
    reaches_out: bool = False


class Tool(Generic[P, R]):
    """A tool; ``plain`` renders its result as text for agents, ``text`` for people.

    ``command`` is the subcommand, ``positional`` the fields that it also takes by position.
    ``example`` are the params of the example in the documentation, in the project that stands in
    ``docs/example``. ``raises`` are the errors beside InvalidParams, ``partial`` is the type of
    partial results, where there are some: both are said in the documentation. A tool is offered
    only where ``offered`` says so of the configuration; ``by_hand`` is the configuration for a call
    that a person makes at the command line, and ``for_people`` the params that such a call has
    unless it names others. ``learn`` is what a call says to learn from, if it says
    something. ``effects`` is what a call does beside answering; what is not ``for_agents`` is
    handed to no model. With no folder open, a tool ``of_open_documents`` runs on those.
    """

    def __init__(
        self,
        run: Run[P, R],
        plain: Callable[[R], str],
        text: Callable[[R, Style, str], str] | None,
        command: str,
        positional: Sequence[str],
        example: Mapping[str, Any],
        raises: Sequence[type[SearchError]],
        partial: type[Result] | None,
        offered: Callable[[Config], bool],
        by_hand: Callable[[Config], Config],
        learn: Learn | None = None,
        effects: Effects = Effects(),  # noqa: B008 - frozen
        for_agents: bool = True,
        of_open_documents: bool = False,
        for_people: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        hints = get_type_hints(run)
        self.run = run
        self.plain = plain
        self.text = text or (lambda result, style, folder: plain(result))
        self.command = command or run.__name__.replace("_", "-")
        self.positional = frozenset(positional)
        self.example = example
        self.raises: tuple[type[SearchError], ...] = (InvalidParams, *raises)
        self.partial = partial
        self.offered = offered
        self.by_hand = by_hand
        self.learn = learn
        self.effects = effects
        self.for_agents = for_agents
        self.of_open_documents = of_open_documents
        self.for_people = for_people
        self.name: str = run.__name__
        self.params: type[P] = hints["params"]
        self.result: type[R] = hints["return"]
        self.description = inspect.cleandoc(run.__doc__ or "")

    @property
    def method(self) -> str:
        """The LSP method: `keyword_search` is `$/keywordSearch`."""
        first, *others = self.name.split("_")
        return "$/" + first + "".join(word.title() for word in others)

    @property
    def title(self) -> str:
        """The name as a person reads it: `keyword_search` is `Keyword search`."""
        return self.name.replace("_", " ").capitalize()

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the params, self-contained."""
        _, components = msgspec.json.schema_components([self.params], ref_template="{name}")
        schema: dict[str, Any] = inlined(components[self.params.__name__], components)
        schema.pop("title", None)
        schema.pop("description", None)
        return schema

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the result, self-contained; what it refers to is in its `$defs`."""
        _, components = msgspec.json.schema_components([self.result], ref_template="#/$defs/{name}")
        schema: dict[str, Any] = components.pop(self.result.__name__)
        return {**schema, "$defs": components}

    async def call(self, workspace: Workspace, raw: object, progress: Progress) -> R:
        """Run the tool on params as plain data. Raises InvalidParams and the tool's own errors."""
        params = self.parse(raw)
        if self.learn is None or not workspace.config.learning.enabled:
            return await with_restarts(lambda: self._run(workspace, params, progress))
        began, recording = time.perf_counter(), RecordingProgress(progress)
        result = await with_restarts(lambda: self._run(workspace, params, recording))
        seconds = time.perf_counter() - began
        call = ToolCall(self.name, params, result, seconds, recording.partials)
        self.learn(workspace.history, call)
        return result

    async def _run(self, workspace: Workspace, params: P, progress: Progress) -> R:
        if self.of_open_documents and workspace.buffers and workspace.has_no_folder:
            # Needed by editors without a folder only.
            from winnow.search.open_documents import search_open_documents

            run: Callable[..., Any] = self.run
            result: R = await search_open_documents(run, workspace, params, progress)
            return result
        return await self.run(workspace, params, progress)

    def parse(self, raw: object) -> P:
        """The typed params. Raises InvalidParams, which names the field."""
        if raw is None:
            raw = {}
        if not isinstance(raw, dict):
            raise InvalidParams("params", f"expected an object, got {_type_name(raw)}")
        kinds = {one.name: one.kind for one in self.fields}
        optional = {one.name for one in self.fields if not one.required}
        # Models that have to name every field send null for those that they do not want.
        raw = {
            key: _as_list(kinds.get(key), value)
            for key, value in raw.items()
            if value is not None or key not in optional
        }
        check_texts(raw, "")
        for key, value in raw.items():
            if isinstance(value, list) and is_list_of_ranges(kinds.get(key)):
                raw[key] = [_range(key, place, one) for place, one in enumerate(value)]
        try:
            return msgspec.convert(raw, self.params)
        except msgspec.ValidationError as error:
            raise _invalid(str(error), kinds) from None

    @cached_property
    def summary(self) -> str:
        """The description's first sentence."""
        return self.description.partition("\n")[0].partition(". ")[0].rstrip(".") + "."

    @cached_property
    def fields(self) -> list[Field]:
        """The fields of the params, as a door needs them to build its arguments."""
        return fields_of(self.params)


def tool(
    *,
    plain: Callable[[R], str],
    text: Callable[[R, Style, str], str] | None = None,
    command: str = "",
    positional: Sequence[str] = (),
    example: Mapping[str, Any],
    raises: Sequence[type[SearchError]] = (),
    partial: type[Result] | None = None,
    offered: Callable[[Config], bool] = lambda config: True,
    by_hand: Callable[[Config], Config] = lambda config: config,
    learn: Learn | None = None,
    effects: Effects = Effects(),  # noqa: B008 - frozen
    for_agents: bool = True,
    of_open_documents: bool = False,
    for_people: Mapping[str, Any] = MappingProxyType({}),
) -> Callable[[Run[P, R]], Tool[P, R]]:
    """Make a tool of a documented coroutine; see :class:`Tool`."""

    def decorate(run: Run[P, R]) -> Tool[P, R]:
        return Tool(
            *(run, plain, text, command, positional, example, raises, partial, offered, by_hand),
            learn,
            effects,
            for_agents,
            of_open_documents,
            for_people,
        )

    return decorate


def fields_of(struct: type[msgspec.Struct]) -> list[Field]:
    """The fields of a struct, in order."""
    info = inspection.type_info(struct)
    assert isinstance(info, inspection.StructType)
    return [_field(field) for field in info.fields]


def _field(field: inspection.Field) -> Field:
    kind, description = field.type, ""
    while isinstance(kind, inspection.Metadata):
        description = (kind.extra_json_schema or {}).get("description", description)
        kind = kind.type
    default, made = field.default, False
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
        made = isinstance(default, str)
    return Field(field.encode_name, kind, description, field.required, default, made)


def inlined(schema: Any, components: Mapping[str, Any]) -> Any:
    """The schema with each reference replaced by what it refers to."""
    if isinstance(schema, dict):
        if name := schema.get("$ref"):
            return inlined(components[name], components)
        made = {key: inlined(value, components) for key, value in schema.items()}
        if "enum" in made and all(isinstance(one, str) for one in made["enum"]):
            made = {"type": "string", **made}  # which some readers of schemas insist on
        if isinstance(made.get("properties"), dict) and list(made["properties"]) == _START_END:
            written = {"type": "string", "pattern": _RANGE.pattern}
            return {"anyOf": [made, written]}
        return made
    return [inlined(one, components) for one in schema] if isinstance(schema, list) else schema


def is_list_of_ranges(kind: inspection.Type | None) -> bool:
    """Whether a field holds ranges: structs of a `start` and an `end`, also written as `10-20`."""
    if not isinstance(kind, inspection.ListType):
        return False
    item = kind.item_type
    return (
        isinstance(item, inspection.StructType)
        and [field.encode_name for field in item.fields] == _START_END
    )


def _as_list(kind: inspection.Type | None, value: object) -> object:
    """Models send a bare string for a list of one, and a bare range."""
    if isinstance(kind, inspection.ListType) and (
        isinstance(value, str) or (isinstance(value, dict) and is_list_of_ranges(kind))
    ):
        return [value]
    return value


def _range(field: str, place: int, value: object) -> object:
    """A range written as text: `10-20`, `10`, or `10-` for all from there on."""
    if not isinstance(value, str):
        return value
    found = _RANGE.fullmatch(value.strip())
    if found is None:
        raise InvalidParams(f"{field}[{place}]", "expected a range such as 10-20, 10 or 10-")
    start = int(found[1])
    end = start if found[2] is None else int(found[2]) if found[2] else None
    return {"start": start, "end": end}


def check_texts(value: object, path: str) -> None:
    """Raise InvalidParams for a text that is no Unicode, has control characters, or is so long that
    searching it for these takes long."""
    if isinstance(value, str):
        if len(value) > TEXT_CHARACTERS:
            raise InvalidParams(path, f"longer than {TEXT_CHARACTERS} characters")
        if _SURROGATE.search(value):
            raise InvalidParams(path, "not valid Unicode text (half of a surrogate pair)")
        if found := _CONTROL.search(value):
            raise InvalidParams(path, f"control character {found[0]!r}")
    elif isinstance(value, dict):
        for key, one in value.items():
            name = str(key)
            if not path and (_SURROGATE.search(name) or _CONTROL.search(name)):
                raise InvalidParams(ascii(name), "unknown field")
            check_texts(one, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for place, one in enumerate(value):
            check_texts(one, f"{path}[{place}]")


_JSON_NAMES = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}


def _invalid(message: str, fields: Iterable[str]) -> InvalidParams:
    """msgspec's message with the field first: "`search_terms[1]`: expected string, got integer".
    Who names a field that is none of ``fields`` is told these: an agent needs no other look then.
    """
    problem, _, path = message.partition(" - at `$")
    path = path.rstrip("`").removeprefix(".")
    if found := re.search(r"(missing required|contains unknown) field `(.*)`", problem, re.S):
        problem = "required" if found[1].startswith("missing") else "unknown field"
        if problem == "unknown field" and not path:
            problem += f"; known are {', '.join(fields)}"
        path = f"{path}.{found[2]}" if path else found[2]
    problem = re.sub(r"`(\w+)`", lambda word: _JSON_NAMES.get(word[1], word[1]), problem).replace(
        "Expected", "expected"
    )
    return InvalidParams(path, problem)


def _type_name(value: object) -> str:
    return _JSON_NAMES.get(type(value).__name__, {"list": "array"}.get(type(value).__name__, "?"))
