"""The protocol explorer: every revision of the protocol as a page that needs no server.

`write` makes the page with its data and scripts. All content is what the generator knows: schemas,
patches, facts and comparisons. Data is in scripts, one for each revision, extension and comparison,
because a page that is opened as a file cannot fetch anything else.
"""

from website.explorer.writing import write

__all__ = ["write"]
