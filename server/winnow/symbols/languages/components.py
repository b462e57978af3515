"""Components with embedded scripts: Vue, Svelte, Astro."""

from __future__ import annotations

from winnow.symbols.language import Language

VUE = Language(
    name="vue",
    files=(".vue",),
    definitions="",
    scripts="(script_element (raw_text) @script)",
)

SVELTE = Language(
    name="svelte",
    files=(".svelte",),
    definitions="",
    scripts="(script_element (raw_text) @script)",
)

ASTRO = Language(
    name="astro",
    files=(".astro",),
    definitions="",
    scripts="""
(frontmatter (frontmatter_js_block) @script)
(script_element (raw_text) @script)
""",
)
