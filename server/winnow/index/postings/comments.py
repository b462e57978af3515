"""Find the comments and docstrings of a text by their delimiters.

No parser is used, because comments of languages without one count as well. A delimiter in a string
is occasionally mistaken for a comment; for ranking that does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Line comments, and lines in block comments that begin with a star.
_SLASHES = r"^[ \t]*(?://+!?|/\*+!?|\*+(?!/))[ \t]?(.*)$"
_HASHES = r"^[ \t]*#+(?![!\[])[ \t]?(.*)$"
_DASHES = r"^[ \t]*(?:---?|\{-)[ \t]?\|?(.*)$"
_SEMICOLONS = r"^[ \t]*;+[ \t]?(.*)$"
_PERCENTS = r"^[ \t]*%+[ \t]?(.*)$"
_QUOTES = r"(?:\"\"\"|''')([\s\S]*?)(?:\"\"\"|''')"
_BLOCKS = r"/\*([\s\S]*?)\*/"
_HASKELL_BLOCKS = r"\{-([\s\S]*?)-\}"
_LUA_BLOCKS = r"--\[=*\[([\s\S]*?)\]=*\]"
_ML_BLOCKS = r"\(\*([\s\S]*?)\*\)"
_MARKUP = r"<!--([\s\S]*?)-->"
_RUBY_BLOCKS = r"^=begin\b([\s\S]*?)^=end\b"

_FAMILIES = {
    (_HASHES, _QUOTES): "python elixir starlark mojo gdscript nim julia toml coffeescript",
    (_HASHES, _RUBY_BLOCKS): "ruby crystal",
    (_HASHES,): """
        bash shell fish r perl yaml make cmake dockerfile tcl awk powershell elvish nix ini
        gitignore properties hcl terraform just meson ninja puppet graphql
        """,
    (_DASHES, _HASKELL_BLOCKS): "haskell elm purescript agda idris",
    (_DASHES, _LUA_BLOCKS): "lua luau teal",
    (_DASHES, _BLOCKS): "sql vhdl ada",
    (_SEMICOLONS,): "commonlisp lisp clojure scheme racket elisp fennel asm nasm llvm hy",
    (_PERCENTS,): "erlang latex matlab prolog bibtex",
    (_ML_BLOCKS,): "ocaml fsharp pascal sml coq",
    (_MARKUP,): "html xml vue svelte astro",
    (): "markdown rst org json diff",
}
_PATTERNS = {
    language: tuple(re.compile(pattern, re.M) for pattern in patterns)
    for patterns, names in _FAMILIES.items()
    for language in names.split()
}
# Most other languages have the delimiters of C.
_OTHERS = tuple(re.compile(pattern, re.M) for pattern in (_SLASHES, r"(?<=\S)[ \t]+//[ \t](.*)$"))


def comments_of(text: str, language: str) -> Iterator[str]:
    """Yield the comments and docstrings of a text, without most of their delimiters."""
    for pattern in _PATTERNS.get(language, _OTHERS):
        for found in pattern.finditer(text):
            yield found[1]
