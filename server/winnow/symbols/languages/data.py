"""Data formats: TOML, YAML, JSON, INI, properties. Only keys near the top level are symbols."""

from __future__ import annotations

from winnow.symbols.language import Language
from winnow.symbols.scopes import projects

# A file with more keys is a data table, which no one navigates.
KEYS = 500

TOML = Language(
    name="toml",
    files=(".toml", "Pipfile"),
    definitions="""
(table . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.section
(table_array_element . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.section
(document (pair . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.property)
(table (pair . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.property)
""",
    once=("section",),
    most=KEYS,
)

# Keys like `jobs:` and `build:` below it. Deeper keys, and keys in lists, are data.
YAML = Language(
    name="yaml",
    files=(".yaml", ".yml", ".clang-format", ".clang-tidy"),
    definitions="""
(document (block_node (block_mapping (block_mapping_pair
  key: (flow_node (_) @name)
  value: (block_node (block_mapping))) @definition.section)))
(document (block_node (block_mapping (block_mapping_pair
  key: (flow_node (_) @name)) @definition.property)))
(document (block_node (block_mapping (block_mapping_pair
  value: (block_node (block_mapping (block_mapping_pair
    key: (flow_node (_) @name)) @definition.property))))))
""",
    most=KEYS,
)

JSON = Language(
    name="json",
    files=(".json", ".jsonc", ".json5", ".geojson", ".webmanifest", ".code-workspace", ".babelrc"),
    definitions="""
(document (object (pair key: (string (string_content) @name) value: (object))
  @definition.section))
(document (object (pair key: (string (string_content) @name)) @definition.property))
""",
    collect=projects.collect,
    most=KEYS,
)

INI = Language(
    name="ini",
    files=(".ini", ".cfg", ".editorconfig", ".gitconfig", ".desktop", ".service", ".npmrc"),
    definitions="""
(section (section_name (text) @name)) @definition.section
(setting (setting_name) @name) @definition.property
""",
    most=KEYS,
)

PROPERTIES = Language(
    name="properties",
    files=(".properties",),
    definitions="(property (key) @name) @definition.property",
    most=KEYS,
)
