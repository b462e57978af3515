"""Find the comments and docstrings of a text by their delimiters.

No parser is used, because comments of languages without one count as well. A delimiter in a string
is occasionally mistaken for a comment; for ranking that does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Line comments, and lines in block comments that begin with a star. The patterns begin with a line
# end, because Python finds that about three times as fast as the beginning of a line.
_SLASHES = r"\n[ \t]*(?://+!?|/\*+!?|\*+(?!/))[ \t]?(.*)"
_HASHES = r"\n[ \t]*#+(?![!\[])[ \t]?(.*)"
_DASHES = r"\n[ \t]*(?:---?|\{-)[ \t]?\|?(.*)"
_SEMICOLONS = r"\n[ \t]*;+[ \t]?(.*)"
_PERCENTS = r"\n[ \t]*%+[ \t]?(.*)"
_QUOTES = r"(?:\"\"\"|''')([\s\S]*?)(?:\"\"\"|''')"
_BLOCKS = r"/\*([\s\S]*?)\*/"
_HASKELL_BLOCKS = r"\{-([\s\S]*?)-\}"
_LUA_BLOCKS = r"--\[=*\[([\s\S]*?)\]=*\]"
_ML_BLOCKS = r"\(\*([\s\S]*?)\*\)"
_MARKUP = r"<!--([\s\S]*?)-->"
_RUBY_BLOCKS = r"\n=begin\b([\s\S]*?)\n=end\b"

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
    language: tuple(map(re.compile, patterns))
    for patterns, names in _FAMILIES.items()
    for language in names.split()
}
# Most other languages have the delimiters of C.
_LIKE_C = re.compile(_SLASHES)
_AFTER_CODE = re.compile(r"//[ \t](.*)")


def comments_of(text: str, language: str) -> Iterator[str]:
    """Yield the comments and docstrings of a text, without most of their delimiters."""
    lines = f"\n{text}"
    patterns = _PATTERNS.get(language)
    for pattern in (_LIKE_C,) if patterns is None else patterns:
        for found in pattern.finditer(lines):
            yield found[1]
    if patterns is None:
        yield from _after_code(text)


def _after_code(text: str) -> Iterator[str]:
    """Yield the comments of C that follow code in their line."""
    start = text.find("//")  # faster than to search for the pattern
    while start >= 0:
        end = start + 1
        if found := _AFTER_CODE.match(text, start):
            before = text[text.rfind("\n", 0, start) + 1 : start]
            code = before.rstrip(" \t")
            if code and code != before:
                yield found[1]
                end = found.end()
        start = text.find("//", end)
