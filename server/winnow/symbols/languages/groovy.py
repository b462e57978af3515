"""Groovy: Gradle build files and Jenkins pipelines. Its grammar only knows words and blocks."""

from __future__ import annotations

from winnow.symbols.language import Language

_TYPES = (("class", "class"), ("interface", "interface"), ("trait", "trait"), ("enum", "enum"))

GROOVY = Language(
    name="groovy",
    files=(".groovy", ".gradle", ".gvy", ".gy", ".gsh", "Jenkinsfile", ".jenkinsfile"),
    programs=("groovy",),
    definitions="\n".join(
        f"""((command (unit (identifier) @_word) . (block . (unit (identifier) @name))
    @definition.{kind}) @first (#eq? @_word "{word}"))"""
        for word, kind in _TYPES
    )
    + """
((command . (unit (identifier) @_word) (block . (unit (func . (identifier) @name)))
    @definition.function) @first
  (#not-match? @_word "^(new|return|if|while|for|switch|catch)$"))
((source_file (command . (unit (identifier) @_word)
    . (unit (identifier) @name) . (operators))) @definition.variable (#eq? @_word "def"))
""",
    comments=("line_comment", "block_comment"),
)
