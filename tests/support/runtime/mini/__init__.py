"""A small revision, written by hand in the form of generated code."""
