"""Servers from typed functions: `@tool`, `@resource` and `@prompt`, and what carries them out."""
