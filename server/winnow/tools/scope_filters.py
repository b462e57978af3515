"""Turn the params of a scope, which most tools have, into the filters of a search."""

from __future__ import annotations

from winnow.text.scope import Filters
from winnow.types import ScopeParams


def filters_of(params: ScopeParams) -> Filters:
    """Return the params that define a scope, without the page and the fields of a tool."""
    names = Filters.__struct_fields__
    return Filters(**{name: getattr(params, name) for name in names if hasattr(params, name)})
