"""Archives of indexes: write one where a code base is built, and reuse it on other machines.

An archive has what an index knows of texts, by the hash of each text: another machine uses it for
files with exactly these texts, whatever their paths, and indexes the others itself.
"""
