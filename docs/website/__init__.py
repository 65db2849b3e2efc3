"""The site: the pages of `docs/`, and pages made from code, tables and records.

`make site`, or `PYTHONPATH=docs:codegen python -m website`, builds it.
"""
