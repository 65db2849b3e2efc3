"""The site: the pages of `docs/`, and pages made from code, tables and records.

`make site`, or `PYTHONPATH=docs:codegen:generated python -m website`, builds it.
"""
