"""How many tokens a text is, about: no tokenizer is loaded for that."""

from __future__ import annotations

# Source code in the compact form: 128 KiB of ripgrep output were 30,600 tokens with 2.36 bytes a
# token for its plain form; the lower figure errs towards sending less.
BYTES_PER_TOKEN = 2.3


def estimated_tokens(text: str) -> int:
    return int(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN) + 1
