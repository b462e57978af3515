"""Languages with queries of their own, one module each: a new file here is a new language."""
