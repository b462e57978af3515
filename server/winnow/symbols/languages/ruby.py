"""Ruby."""

from __future__ import annotations

from winnow.symbols.language import Language, hidden_by

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
    exported=hidden_by(r"^private(?:_class_method)?\b"),
    kind=kind,
    header=("argument_list", "call"),
    name_part="[^:'\"].*",
)  # fmt: skip
