"""The rules by which names of TypeScript, JavaScript and components are resolved."""

from __future__ import annotations

from msgspec.structs import replace

from winnow.symbols.resolve.rules import Rules
from winnow.symbols.scopes.typescript.modules import module

WRAPPERS = frozenset(
    "Partial Required Readonly NonNullable Awaited Promise PromiseLike Omit Pick Exclude Extract"
    " DeepPartial NoInfer".split()
)
_LISTS = frozenset(
    "Array ReadonlyArray Set ReadonlySet Iterable Iterator IterableIterator AsyncIterable"
    " AsyncIterableIterator Generator AsyncGenerator".split()
)
# List members that return a list of the same items, and those that return one item.
_SAME = frozenset("filter slice concat reverse sort splice values toSorted toReversed".split())
_ITEM = frozenset("find findLast at pop shift".split())
_TAKES = frozenset("push unshift add fill".split())
# The most frequent members of built-in types.
_COMMON = frozenset(
    "length concat join slice indexOf includes push pop shift unshift splice map filter forEach"
    " reduce some every find findIndex flat flatMap keys values entries fill sort reverse at"
    " charAt charCodeAt codePointAt endsWith startsWith match matchAll normalize padEnd padStart"
    " repeat replace replaceAll search split substring toLowerCase toUpperCase trim trimEnd"
    " trimStart toString valueOf toFixed hasOwnProperty apply call bind name message stack cause"
    " get set has add delete clear size then catch finally next return throw exec test source"
    " flags lastIndex getTime toISOString toJSON resolve reject description constructor prototype"
    " byteLength buffer abort signal aborted addEventListener removeEventListener dispatchEvent"
    " type target data value done".split()
)
TYPESCRIPT_RULES = Rules(
    module=module,
    instance=frozenset(("this",)),
    family=True,
    merging=True,
    renames=True,
    closed=True,
    scripts="always",
    marked=True,
    typed_parameters=True,
    any_types=frozenset(("any", "unknown")),
    wrappers=WRAPPERS,
    containers=_LISTS,
    same=_SAME,
    item=_ITEM,
    takes=_TAKES,
    common=_COMMON,
    self_types=frozenset(("this",)),
)
# Frameworks import functions into components by themselves.
COMPONENT_RULES = replace(
    TYPESCRIPT_RULES, everywhere=frozenset(("function", "constant", "module"))
)
JAVASCRIPT_RULES = replace(
    TYPESCRIPT_RULES,
    scripts="loaded",
    typed_parameters=False,
    any_types=frozenset(("any", "unknown", "*")),
    self_types=frozenset(),
)
