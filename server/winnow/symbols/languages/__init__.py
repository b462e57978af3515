"""Languages with their own queries, one module each. A new file here adds a language."""
