"""Estimate tokens without loading a tokenizer."""

from __future__ import annotations

# Measured on source code: 128 KiB of ripgrep output in the compact form were 30,600 tokens, with
# 2.36 bytes per token in its plain form. The lower figure errs towards sending less.
BYTES_PER_TOKEN = 2.3


def estimated_tokens(text: str) -> int:
    return int(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN) + 1
