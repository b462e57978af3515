"""The readers of document formats: one module per format, or per group of similar formats.

A module lists its formats in ``FORMATS``. It imports libraries on first use, because the server
also loads the table of formats but reads no documents.
"""
