"""Elixir."""

from __future__ import annotations

from winnow.symbols.language import Language, hidden_by

# The head of a function definition: with or without arguments, with or without a guard.
_HEAD = """(arguments . [
    (call target: (identifier) @name)
    (identifier) @name
    (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "when")
  ])"""
_MODULE_DOC = """(do_block . (unary_operator operand: (call target: (identifier) @_doc
    (arguments [(string) (sigil)] @doc) (#eq? @_doc "moduledoc"))))"""
_KEYS = "[(atom) @name (keywords (pair key: (keyword) @name))]"
# Module attributes that the compiler or the tools interpret.
_ATTRIBUTES = (
    "after_compile|after_verify|before_compile|behaviour|callback|compile|deprecated|"
    "derive|dialyzer|doc|docs|enforce_keys|external_resource|file|fallback_to_any|for|"
    "impl|macrocallback|moduledoc|moduletag|describetag|on_definition|on_load|opaque|"
    "optional_callbacks|protocol|since|spec|tag|type|typedoc|typep|vsn"
)


DEFINITIONS = f"""
((unary_operator operand: (call target: (identifier) @_doc
    (arguments [(string) (sigil)] @text))) @comment (#any-of? @_doc "doc" "typedoc"))
((unary_operator operand: (call target: (identifier) @_at)) @between
  (#any-of? @_at "spec" "impl" "deprecated" "since" "tag" "doc" "dialyzer"))
((call target: (identifier) @_def (arguments . (alias) @qualified) {_MODULE_DOC})
  @definition.module (#eq? @_def "defmodule"))
((call target: (identifier) @_def (arguments . (alias) @qualified) {_MODULE_DOC})
  @definition.interface (#eq? @_def "defprotocol"))
((call target: (identifier) @_def (arguments . (alias) @qualified))
  @definition.module (#eq? @_def "defmodule"))
((call target: (identifier) @_def (arguments . (alias) @qualified))
  @definition.interface (#eq? @_def "defprotocol"))
((call target: (identifier) @_def (arguments . (alias) @name)) @inside (#eq? @_def "defimpl"))
((call target: (identifier) @_def {_HEAD}) @definition.function
  (#any-of? @_def "def" "defp" "defdelegate" "defn" "defnp"))
((call target: (identifier) @_def {_HEAD}) @definition.macro
  (#any-of? @_def "defmacro" "defmacrop" "defguard" "defguardp"))
((call target: (identifier) @_def
    (arguments . (binary_operator operator: _ @name (#not-eq? @name "when")))) @definition.operator
  (#any-of? @_def "def" "defp" "defmacro" "defmacrop"))
((call target: (identifier) @_def
    (arguments [{_KEYS} (list {_KEYS}) (list (tuple . (atom) @name))])) @definition.field
  (#any-of? @_def "defstruct" "defexception"))
((unary_operator operand: (call target: (identifier) @_at (arguments . [
    (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "::")
    (binary_operator left:
      (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "::")
      operator: "when")
  ]))) @definition.type (#any-of? @_at "type" "typep" "opaque"))
((unary_operator operand: (call target: (identifier) @_at (arguments . [
    (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "::")
    (binary_operator left:
      (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "::")
      operator: "when")
  ]))) @declaration.function (#any-of? @_at "callback" "macrocallback"))
((unary_operator operator: "@" operand: (call target: (identifier) @name (arguments)))
  @definition.constant (#not-match? @name "^({_ATTRIBUTES})$"))
((call target: (identifier) @_def (arguments . (string . (quoted_content) @name .)) (do_block))
  @definition.function (#any-of? @_def "test" "property" "feature"))
((call target: (identifier) @_def (arguments . (string . (quoted_content) @name .)) (do_block))
  @definition.namespace (#eq? @_def "describe"))
"""

USES = """
(alias) @qualified
(struct (alias) @type)
(call target: [(identifier) @call (dot right: (identifier) @call)])
(binary_operator operator: "|>" right: (identifier) @call)
((call target: (identifier) @_def
    (arguments . (alias) @base (keywords (pair value: (alias) @part)))) @whole
  (#eq? @_def "defimpl"))
((unary_operator operand: (call target: (identifier) @_at (arguments . (alias) @base)))
  (#eq? @_at "behaviour"))
((call target: (identifier) @_call (arguments . (alias) @import))
  (#any-of? @_call "alias" "import" "require" "use"))
"""


ELIXIR = Language(
    name="elixir",
    files=(".ex", ".exs"),
    programs=("elixir", "iex"),
    definitions=DEFINITIONS,
    uses=USES,
    # Attributes are private to their module.
    exported=hidden_by(r"^(?:def(?:macro|guard|n)?p\b|@typep\b|@\w*$)"),
    name_part=r"[^:\"'\s](?:.*[^:\"'\s])?",
    clauses=True,
)
