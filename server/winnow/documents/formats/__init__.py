"""The formats of documents: a module here is one format, or some that are read in the same way.

A module names its formats in ``FORMATS``; what else it needs it imports when it is first used,
since the server, which reads no document itself, loads the table, too.
"""
