"""A small revision, written by hand like generated code."""
