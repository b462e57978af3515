"""Resolve names of C and C++: names of the whole program, or of a file and its includers.

The meaning of a name depends first on its scope, then on its file, then on the included files,
nearest first. Two declarations with linkage declare one symbol, so a meaning is the list of all of
them. Members are found by declared types. Macros count as their text: a use of a macro uses every
name in it, as it does for a compiler.
"""
