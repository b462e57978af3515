"""Lisps: Clojure, Emacs Lisp, Common Lisp, Scheme, Racket, Fennel, Janet."""

from __future__ import annotations

from winnow.symbols.language import Language

# The kinds of definitions, by the first word of the list.
_WORDS = {
    "function": "defn defn- defun defsubst defmulti definline defadvice cl-defun defgeneric",
    "method": "defmethod cl-defmethod",
    "macro": "defmacro defmacro- define-syntax define-syntax-rule define-macro macro cl-defmacro "
    "define-minor-mode define-derived-mode",
    "variable": "def defvar defonce defvar-local defparameter defcustom defface local var global",
    "constant": "defconst defconstant",
    "interface": "defprotocol definterface",
    "struct": "defrecord deftype defstruct cl-defstruct struct define-struct define-record-type",
    "class": "defclass",
    "module": "ns defpackage module define-library",
}


def _lists(node: str, symbol: str) -> str:
    """Return patterns for lists of these node types."""
    return "\n".join(
        f"""(({node} . ({symbol}) @_word . ({symbol}) @name) @definition.{kind}
  (#any-of? @_word {" ".join(f'"{word}"' for word in words.split())}))"""
        for kind, words in _WORDS.items()
    )


def _schemes(node: str, symbol: str) -> str:
    return f"""
(({node} . ({symbol}) @_word . ({node} . ({symbol}) @name)) @definition.function
  (#any-of? @_word "define" "define*" "define/contract" "define-public"))
((program ({node} . ({symbol}) @_word . ({symbol}) @name) @definition.variable)
  (#any-of? @_word "define" "define-public"))
"""


CLOJURE = Language(
    name="clojure",
    files=(".clj", ".cljs", ".cljc", ".edn"),
    programs=("bb", "clojure"),
    definitions=_lists("list_lit", "sym_lit"),
    exported=lambda header, name: not header.startswith("(defn- "),
)

ELISP = Language(
    name="elisp",
    files=(".el", ".emacs"),
    definitions="""
(function_definition name: (_) @name docstring: (string) @doc) @definition.function
(function_definition name: (_) @name) @definition.function
(macro_definition name: (_) @name docstring: (string) @doc) @definition.macro
(macro_definition name: (_) @name) @definition.macro
(special_form "defvar" . (symbol) @name) @definition.variable
(special_form "defconst" . (symbol) @name) @definition.constant
"""
    + _lists("list", "symbol"),
)

COMMONLISP = Language(
    name="commonlisp",
    files=(".lisp", ".lsp", ".cl", ".asd"),
    programs=("sbcl", "clisp"),
    definitions="""
((defun (defun_header keyword: (defun_keyword) @_word function_name: (_) @name))
  @definition.macro (#eq? @_word "defmacro"))
((defun (defun_header keyword: (defun_keyword) @_word function_name: (_) @name))
  @definition.method (#eq? @_word "defmethod"))
(defun (defun_header function_name: (_) @name)) @definition.function
"""
    + _lists("list_lit", "sym_lit"),
)

SCHEME = Language(
    name="scheme",
    files=(".scm", ".ss", ".sld", ".sls", ".guile"),
    programs=("guile", "chez", "csi"),
    definitions=_schemes("list", "symbol") + _lists("list", "symbol"),
)

RACKET = Language(
    name="racket",
    files=(".rkt", ".rktl", ".rktd"),
    programs=("racket",),
    definitions=_schemes("list", "symbol") + _lists("list", "symbol"),
)

JANET = Language(
    name="janet",
    files=(".janet",),
    programs=("janet",),
    definitions="""
(def name: (_) @name) @definition.variable
(var name: (_) @name) @definition.variable
(extra_defs ["defmacro" "defmacro-"] name: (_) @name) @definition.macro
(extra_defs name: (_) @name) @definition.function
""",
    exported=lambda header, name: "- " not in header,
    comments=("line_comment",),
)

FENNEL = Language(
    name="fennel",
    files=(".fnl", ".fnlm"),
    programs=("fennel",),
    definitions="""
(fn name: (_) @name) @definition.function
(lambda name: (_) @name) @definition.function
(program (local (binding (symbol) @name)) @definition.variable)
(program (var (binding (symbol) @name)) @definition.variable)
"""
    + _lists("list", "symbol"),
)
