"""What these tests have in common with those of the language server."""

from __future__ import annotations

from lsp.conftest import no_server_is_left

__all__ = ["no_server_is_left"]
