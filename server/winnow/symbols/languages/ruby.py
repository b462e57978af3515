"""Ruby."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.symbols.file_symbols import BINDS, CALLED, PARAMETER, LexicalScope
from winnow.symbols.language import Language, hidden_by

if TYPE_CHECKING:
    from winnow.symbols.extract.extraction import Extraction

DEFINITIONS = """
((body_statement (identifier) @access) (#any-of? @access "private" "protected" "public"))
(class name: (constant) @name) @definition.class
(class name: (scope_resolution scope: (_) @container name: (constant) @name)) @definition.class
(class name: (scope_resolution name: (constant) @name)) @definition.class
(module name: (constant) @name) @definition.module
(module name: (scope_resolution scope: (_) @container name: (constant) @name)) @definition.module
(assignment left: (constant) @name right: (call
  receiver: (constant) @_maker method: (identifier) @_new)
  (#any-of? @_maker "Class" "Struct" "Data") (#any-of? @_new "new" "define")) @definition.class
(assignment left: (constant) @name right: (call receiver: (constant) @_maker)
  (#eq? @_maker "Module")) @definition.module
(method name: (identifier) @name (#eq? @name "initialize")) @definition.constructor
(method name: (_) @name) @definition.function
(singleton_method object: (self) name: (_) @name) @definition.function
(singleton_method object: (_) @container name: (_) @name) @definition.function
(assignment left: (constant) @name) @definition.constant
(operator_assignment left: (constant) @name) @definition.constant
(assignment left: (scope_resolution scope: (_) @container name: (constant) @name))
  @definition.constant
(assignment left: (left_assignment_list (constant) @name)) @definition.constant
(program (assignment left: (global_variable) @name) @definition.variable)
(alias name: (_) @name) @definition.function
((call method: (identifier) @_call arguments: (argument_list . [
    (simple_symbol) @name
    (string . (string_content) @name .)
  ])) @definition.function
  (#any-of? @_call "alias_method" "define_method" "define_singleton_method" "scope"))
((call method: (identifier) @_call arguments: (argument_list [
    (simple_symbol) @name
    (string . (string_content) @name .)
  ])) @definition.property
  (#match? @_call "^(class_|thread_|[cm])?(mattr|cattr|attr|attribute)_(accessor|reader|writer)$"))
"""

USES = """
(call method: (_) @call)
(block_argument (simple_symbol) @call)
(identifier) @bare
(call method: (identifier) @named)
(method name: (identifier) @named)
(singleton_method name: (identifier) @named)
(alias (identifier) @named)
(undef (identifier) @named)
(assignment left: (identifier) @local)
(operator_assignment left: (identifier) @local)
(left_assignment_list (identifier) @local)
(destructured_left_assignment (identifier) @local)
(rest_assignment (identifier) @local)
(method_parameters (identifier) @parameters)
(lambda_parameters (identifier) @parameters)
(block_parameters (identifier) @parameters)
(destructured_parameter (identifier) @parameters)
(optional_parameter name: (identifier) @parameters)
(keyword_parameter name: (identifier) @parameters)
(splat_parameter name: (identifier) @parameters)
(hash_splat_parameter name: (identifier) @parameters)
(block_parameter name: (identifier) @parameters)
(exception_variable (identifier) @local)
(for pattern: (identifier) @local)
(in_clause pattern: (identifier) @local)
(array_pattern (identifier) @local)
(find_pattern (identifier) @local)
(as_pattern name: (identifier) @local)
(keyword_pattern value: (identifier) @local)
(keyword_pattern key: (hash_key_symbol) @local !value)
[(block) (do_block) (lambda)] @block
"""


def prepare(extraction: Extraction) -> None:
    """Bind local variables, and mark all other identifiers as calls without arguments."""
    _add_blocks(extraction)
    flags, captured = extraction.flags, extraction.captured
    bound: set[tuple[int, str]] = set()

    def is_local(scope: int, name: str) -> bool:
        while (scope, name) not in bound:
            if extraction.scopes[scope].kind != "block":
                return False
            scope = extraction.scopes[scope].parent
        return True

    named = {node.start_byte for node in captured.get("named", ())}
    for flag, capture in ((BINDS | PARAMETER, "parameters"), (BINDS, "local")):
        for node in sorted(captured.get(capture, ()), key=lambda node: node.start_byte):
            scope, name = extraction.scope_at(node.start_byte), extraction.text(node)
            named.add(node.start_byte)
            # A class has no variables that its methods see.
            if extraction.scopes[scope].kind in ("function", "block") and (
                flag & PARAMETER or not is_local(scope, name)
            ):
                bound.add((scope, name))
                flags[node.start_byte] = flag
    for node in captured.get("bare", ()):
        at = node.start_byte
        if at not in named and not is_local(extraction.scope_at(at), extraction.text(node)):
            flags[at] = CALLED


def _add_blocks(extraction: Extraction) -> None:
    """Add the scopes of blocks."""
    nodes = extraction.captured.get("block", ())
    blocks = [LexicalScope(node.start_byte, node.end_byte, 0, "block") for node in nodes]
    scopes = [*extraction.scopes, *blocks]
    extraction.scopes = sorted(scopes, key=lambda scope: (scope.start, -scope.end))
    extraction.link_scopes()


def kind(kind: str, header: str, name: str, container: str) -> str:
    """Turn functions in modules into methods."""
    return "method" if kind == "function" and container else kind


RUBY = Language(
    name="ruby",
    files=(
        ".rb", ".rake", ".gemspec", ".ru", ".rbi", ".jbuilder", ".podspec", ".thor",
        "Rakefile", "Gemfile", "Guardfile", "Vagrantfile", "Podfile", "Capfile", "Brewfile",
        "Fastfile", "Dangerfile",
    ),
    programs=("ruby", "jruby", "rake"),
    definitions=DEFINITIONS,
    uses=USES,
    prepare=prepare,
    exported=hidden_by(r"^private(?:_class_method)?\b"),
    kind=kind,
    header=("argument_list", "call"),
    name_part="[^:'\"].*",
)  # fmt: skip
