"""Build files: Makefiles, Dockerfiles, CMake, HCL (Terraform)."""

from __future__ import annotations

from winnow.symbols.language import Language

MAKE = Language(
    name="make",
    files=(
        "Makefile", "makefile", "GNUmakefile", "Kbuild", "Makefile.am", "Makefile.in",
        ".mk", ".mak", ".make",
    ),
    programs=("make",),
    reserved=frozenset(("if", "else", "endif")),  # of Automake
    definitions="""
(rule (targets (word) @name (#not-match? @name "^\\\\.[A-Z]+$|%"))) @definition.function
(variable_assignment name: (word) @name) @definition.variable
(shell_assignment name: (word) @name) @definition.variable
(define_directive name: (word) @name) @definition.macro
""",
)  # fmt: skip

DOCKERFILE = Language(
    name="dockerfile",
    files=("Dockerfile", "Containerfile", ".dockerfile", ".Dockerfile"),
    definitions="""
(from_instruction as: (image_alias) @name) @definition.section
(arg_instruction name: (_) @name) @definition.variable
(env_instruction (env_pair name: (_) @name) @definition.variable)
""",
)

CMAKE = Language(
    name="cmake",
    files=("CMakeLists.txt", ".cmake", ".cmake.in"),
    definitions="""
(function_def (function_command (argument_list . (argument) @name))) @definition.function
(macro_def (macro_command (argument_list . (argument) @name))) @definition.macro
((normal_command . (identifier) @_command (argument_list . (argument) @name))
  @definition.function
  (#match? @_command "(?i)^(add_executable|add_library|add_custom_target)$"))
((normal_command . (identifier) @_command (argument_list . (argument) @name))
  @definition.module (#match? @_command "(?i)^project$"))
((normal_command . (identifier) @_command (argument_list . (argument) @name))
  @definition.variable (#match? @_command "(?i)^(set|option)$"))
""",
    comments=("line_comment", "bracket_comment"),
)

# Definitions have the names by which expressions refer to them: `resource "aws_instance" "web"` is
# aws_instance.web, `variable "name"` is var.name. Outputs are named only from outside of a module.
HCL = Language(
    name="hcl",
    files=(".hcl", ".tf", ".tfvars", ".nomad", ".tofu"),
    definitions="""
(config_file (body (block . (identifier) @_block @namespace
  . (string_lit (template_literal) @namespace)
  . (string_lit (template_literal) @name)) @definition.object) (#eq? @_block "data"))
(config_file (body (block . (identifier)
  . (string_lit (template_literal) @container)
  . (string_lit (template_literal) @name)) @definition.object))
(config_file (body (block . (identifier) @_block
  . (string_lit (template_literal) @name) . (block_start)) @definition.variable
  (#eq? @_block "output")))
(config_file (body (block . (identifier) @_block @namespace
  . (string_lit (template_literal) @name) . (block_start)) @definition.variable
  (#eq? @_block "variable")))
(config_file (body (block . (identifier) @_block @namespace
  . (string_lit (template_literal) @name) . (block_start)) @definition.object
  (#eq? @_block "module")))
(config_file (body (block . (identifier)
  . (string_lit (template_literal) @name) . (block_start)) @definition.object))
(config_file (body (block . (identifier) @_block @namespace
  (body (attribute . (identifier) @name) @definition.variable)) (#eq? @_block "locals")))
(config_file (body (attribute . (identifier) @name) @definition.variable))
""",
    namespace=lambda text: {"variable": "var", "locals": "local"}.get(text, text),
)
