"""Code that reads and writes generated dataclasses; it is copied beside them as one module."""
