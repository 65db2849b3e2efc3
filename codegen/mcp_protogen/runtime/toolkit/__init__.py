"""Servers of typed functions: the decorators `@tool`, `@resource` and `@prompt`, and more."""
