"""The language server: pygls and lsprotocol are known in this folder only."""
