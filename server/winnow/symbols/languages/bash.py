"""Bash and related shells."""

from __future__ import annotations

from winnow.symbols.language import Language


def _top_level(pattern: str) -> str:
    """Return patterns that match at the top level of a file, and inside conditions there."""
    return f"(program {pattern})\n(program (if_statement {pattern}))\n"


DEFINITIONS = (
    """
(function_definition name: (_) @name) @definition.function
((command name: (command_name) @_alias argument: [
    (word) @name
    (concatenation . (word) @name)
  ]) @definition.function (#eq? @_alias "alias") (#match? @name "^[^-=]+="))
"""
    + _top_level("""((declaration_command . "readonly" [
    (variable_assignment name: (variable_name) @name)
    (variable_name) @name
  ]) @definition.constant)""")
    + _top_level("""((declaration_command . ["declare" "typeset"] (word) @_option [
    (variable_assignment name: (variable_name) @name)
    (variable_name) @name
  ]) @definition.constant (#match? @_option "^-[a-z]*r"))""")
    + _top_level("""((declaration_command . ["declare" "typeset" "export"] [
    (variable_assignment name: (variable_name) @name)
    (variable_name) @name
  ]) @definition.variable)""")
    + _top_level("((variable_assignment name: (variable_name) @name) @definition.variable)")
)

USES = """
(command_name (word) @call)
"""

BASH = Language(
    name="bash",
    files=(
        ".sh", ".bash", ".zsh", ".ksh", ".bats", ".ebuild", ".eclass",
        ".bashrc", ".bash_profile", ".bash_aliases", ".bash_login", ".bash_logout", ".profile",
        ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", "PKGBUILD", "APKBUILD",
    ),
    programs=("bash", "sh", "zsh", "ksh", "dash", "ash", "mksh", "bats"),
    definitions=DEFINITIONS,
    uses=USES,
    name_part="[^='\"]+",
)  # fmt: skip
