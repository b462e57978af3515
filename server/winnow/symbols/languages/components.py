"""Components with embedded scripts: Vue, Svelte, Astro."""

from __future__ import annotations

import functools

from winnow.symbols.language import Language
from winnow.symbols.scopes.typescript.rules import COMPONENT_RULES

_component = functools.partial(Language, definitions="", rules=COMPONENT_RULES)

VUE = _component(
    name="vue",
    files=(".vue",),
    scripts="(script_element (raw_text) @script)",
)

SVELTE = _component(
    name="svelte",
    files=(".svelte",),
    scripts="(script_element (raw_text) @script)",
)

ASTRO = _component(
    name="astro",
    files=(".astro",),
    scripts="""
(frontmatter (frontmatter_js_block) @script)
(script_element (raw_text) @script)
""",
)
