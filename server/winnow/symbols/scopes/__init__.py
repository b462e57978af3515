"""How names are bound, one module a language: for those whose references are resolved."""
