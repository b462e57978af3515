"""How a child that answers is spoken to; apart, so that one need not load what starts children."""

from __future__ import annotations

LENGTH_BYTES = 4  # of the number before a message
