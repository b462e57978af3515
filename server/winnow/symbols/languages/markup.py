"""Texts with headings: Markdown, reStructuredText, Org, LaTeX, Typst. Each heading is a section."""

from __future__ import annotations

from winnow.symbols.language import Language

MARKDOWN = Language(
    name="markdown",
    files=(".md", ".markdown", ".mdx", ".mkd", ".mdown", ".qmd", ".rmd", ".Rmd"),
    definitions="""
(section . (atx_heading heading_content: (inline) @name)) @definition.section
(setext_heading heading_content: (paragraph (inline) @name)) @definition.section
""",
    comments=(),
    name_part=r"\S(?:.*\S)?",
)

RST = Language(
    name="rst",
    files=(".rst", ".rest"),
    definitions="""
(section (title) @name) @definition.section
(target name: (name) @name) @definition.section
""",
    comments=(),
    name_part=r"[^_\s](?:.*[^:\s])?",
)

ORG = Language(
    name="org",
    files=(".org",),
    definitions="(section headline: (headline item: (item) @name)) @definition.section",
    comments=(),
)

LATEX = Language(
    name="latex",
    files=(".tex", ".sty", ".ltx", ".dtx"),
    definitions="\n".join(
        f"({level} text: (curly_group (_) @name)) @definition.section"
        for level in (
            "part", "chapter", "section", "subsection", "subsubsection", "paragraph",
        )
    )
    + """
(new_command_definition declaration: (curly_group_command_name command: (_) @name))
  @definition.macro
(new_command_definition declaration: (command_name) @name) @definition.macro
(old_command_definition declaration: (command_name) @name) @definition.macro
(environment_definition name: (curly_group_text text: (_) @name)) @definition.macro
(label_definition name: (curly_group_label label: (_) @name)) @definition.constant
""",
    comments=("line_comment",),
)  # fmt: skip
