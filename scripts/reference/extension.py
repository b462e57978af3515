"""Generate the settings and tools in the VS Code extension's package.json from their definitions.

The rest of the file is written by hand, including the extension's own settings. Generated settings
have the tag "server".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from reference.settings_page import sections, sentences_of
from reference.shapes import Struct, sentence
from winnow.config import WORKSPACE_SECTIONS
from winnow.tools import TOOLS
from winnow.tools.registry import ShortTool, Tool, fields_of, inlined

PACKAGE = Path(__file__).parents[2] / "vscode-extension/package.json"
Plain = dict[str, Any]

# A workspace may not set these: they name programs, addresses, keys or folders to search, or
# control the data that leaves the machine.
MACHINE_SECTIONS = frozenset({"programs", "bash", "cluster", "workspace"})
# Nor these, which are the same on all machines of a user. In a remote window, the editor reads them
# from the user's settings.
USER_SECTIONS = frozenset({"llm"})
MACHINE_SETTINGS = frozenset(
    {
        "documents.engine",
        "index.embeddings",
        "index.source",
        "index.enable_sensitive_filtering",
    }
)


# Settings that users want, beside the extension's own. The others are in the category "Advanced".
COMMON_SETTINGS = ("search.exclude", "index.enabled", "llm.enabled", "llm.consent")
# The extension has these in other units, see core/settings.ts.
REPLACED_SETTINGS = frozenset({"limits.answer_bytes", "limits.search_seconds"})
SERVER_TAG = "server"
# Marks the tools in the short list, which the server calls by other names.
SHORT_TAG = "lean"


def package_text() -> str:
    """Return the expected text of the file."""
    package: Plain = json.loads(PACKAGE.read_text("utf-8"))
    contributes = package["contributes"]
    common, advanced = contributes["configuration"]
    generated = settings()
    by_hand = [*_by_hand(common), *_by_hand(advanced)]
    common["properties"] = _by_hand(common) | {
        f"winnow.{name}": generated[name] for name in COMMON_SETTINGS
    }
    advanced["properties"] = _by_hand(advanced) | {
        f"winnow.{name}": schema
        for name, schema in generated.items()
        if name not in COMMON_SETTINGS and name not in REPLACED_SETTINGS
    }
    contributes["languageModelTools"] = [
        *(short_tool(tool, tool.short) for tool in TOOLS.values() if tool.short),
        *(
            language_model_tool(tool)
            for tool in TOOLS.values()
            if tool.for_agents and not tool.short
        ),
    ]
    package["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] = [
        *by_hand,
        *(
            f"winnow.{name}"
            for name in generated
            if name.split(".")[0] not in WORKSPACE_SECTIONS and name not in REPLACED_SETTINGS
        ),
    ]
    return json.dumps(package, indent=2, ensure_ascii=False) + "\n"


def _by_hand(category: Plain) -> Plain:
    """Return the settings of a category that are not generated."""
    return {
        name: schema
        for name, schema in category["properties"].items()
        if SERVER_TAG not in schema.get("tags", [])
    }


def settings() -> dict[str, Plain]:
    """Return all settings by their paths, with schemas in VS Code's format."""
    return {
        f"{path}.{name}": schema
        for path, struct in sections()
        if ".NAME" not in path
        for name, schema in _settings_of(path, struct)
    }


def _settings_of(path: str, struct: Struct) -> Iterator[tuple[str, Plain]]:
    for name, schema in _properties(struct).items():
        full = f"{path}.{name}"
        sentences = schema.pop("description")
        if schema.get("type") == "object":
            schema["default"] = {}  # the server has the built-in values
        generated = {"markdownDescription": sentences, "scope": _scope(path, full)}
        yield name, {**schema, **generated, "tags": [SERVER_TAG]}


def _scope(section: str, name: str) -> str:
    if section in USER_SECTIONS:
        return "application"
    return "machine" if section in MACHINE_SECTIONS or name in MACHINE_SETTINGS else "window"


def _properties(struct: Struct) -> dict[str, Plain]:
    """Return the schema of each field, with the sentence below the field."""
    sentences, hints = sentences_of(struct), get_type_hints(struct, include_extras=True)
    properties = {}
    for field in fields_of(struct):
        schemas, components = msgspec.json.schema_components(
            [hints[field.name]], ref_template="{name}"
        )
        [schema] = schemas
        inline: Plain = _without_null(inlined(schema, _described(components)))
        inline["description"] = sentences.get(field.name) or sentence(struct)
        if not field.required:
            inline["default"] = msgspec.to_builtins(field.default)
        properties[field.name] = inline
    return properties


def _described(components: Plain) -> Plain:
    """Add descriptions to the schemas of structs within a setting."""
    from winnow import config

    for name, schema in components.items():
        schema.pop("title", None)
        sentences = sentences_of(getattr(config, name))
        for field, shape in schema["properties"].items():
            if field in sentences:
                shape["description"] = sentences[field]
    return components


def _without_null(schema: Any) -> Any:
    """Rewrite the schema of a nullable value in the form that VS Code supports."""
    kinds = schema.get("anyOf", []) if isinstance(schema, dict) else []
    non_null = [kind for kind in kinds if kind != {"type": "null"}]
    if len(non_null) == 1 and len(kinds) == 2 and isinstance(non_null[0].get("type"), str):
        return {**non_null[0], "type": [non_null[0]["type"], "null"]}
    return schema


def short_tool(tool: Tool[Any, Any], short: ShortTool) -> Plain:
    """Return the definition of a tool in the short list, which is offered by default."""
    return {
        **_described_tool(tool, short.name, short.name.capitalize()),
        "modelDescription": short.description,
        "tags": ["winnow", "search", SHORT_TAG],
        "inputSchema": tool.short_schema(short),
        "when": "config.winnow.tools =~ /^(lean|all)$/",
    }


def language_model_tool(tool: Tool[Any, Any]) -> Plain:
    """Return the definition of a tool that is offered if the user wants all tools."""
    switched_on = f" && config.winnow.{tool.switch}" if tool.switch else ""
    return {
        **_described_tool(tool, tool.name, tool.title),
        "modelDescription": tool.description,
        "tags": ["winnow", "search"],
        "inputSchema": tool.input_schema,
        "when": f"config.winnow.tools == 'all'{switched_on}",
    }


def _described_tool(tool: Tool[Any, Any], name: str, title: str) -> Plain:
    return {
        "name": f"winnow_{name}",
        "toolReferenceName": f"winnow_{name}",
        "displayName": f"Winnow: {title}",
        "userDescription": tool.summary,
        "canBeReferencedInPrompt": True,
        "icon": "$(search)",
    }
