"""The protocol explorer: every revision of the protocol as a page without a server.

`write` makes the page with its data and scripts. All content comes from the generator: schemas,
patches, facts and comparisons. Data is in scripts, one for each revision, extension and comparison,
because a page that is opened as a file cannot fetch other files.
"""

from website.explorer.writing import write

__all__ = ["write"]
