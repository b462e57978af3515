"""Style sheets: CSS and SCSS. Classes, ids and variables are symbols."""

from __future__ import annotations

from winnow.symbols.language import Language

CSS = Language(
    name="css",
    files=(".css",),
    definitions="""
(rule_set (selectors) @name) @definition.class
(keyframes_statement (keyframes_name) @name) @definition.function
(declaration (property_name) @name (#match? @name "^--")) @definition.property
""",
)

SCSS = Language(
    name="scss",
    files=(".scss",),
    definitions="""
(rule_set (selectors) @name) @definition.class
(keyframes_statement (keyframes_name) @name) @definition.function
(mixin_statement name: (_) @name) @definition.macro
(function_statement name: (_) @name) @definition.function
(stylesheet (declaration (property_name) @name (#match? @name "^(\\\\$|--)"))
  @definition.variable)
(declaration (property_name) @name (#match? @name "^--")) @definition.property
""",
    comments=("comment", "js_comment"),
)
