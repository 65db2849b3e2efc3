"""Sections of pages that are written by programs: the lines between two marks."""

from pathlib import Path


def between(text: str, name: str) -> str:
    """Return the text between the marks of a section; raise `ValueError` without them."""
    _, section, _ = _parts(text, name)
    return section


def fill(text: str, name: str, section: str) -> str:
    """Return the text of a page with a new section; raise `ValueError` without its marks."""
    before, _, after = _parts(text, name)
    return f"{before}{section}{after}"


def write(page: Path, name: str, section: str) -> None:
    """Put text between the marks of a section; raise `ValueError` without them."""
    text = fill(page.read_text(encoding="utf-8"), name, section)
    page.write_text(text, encoding="utf-8")


def _parts(text: str, name: str) -> tuple[str, str, str]:
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = text.partition(begin)
    section, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(
            f"the page has no place for {name}: add the lines {begin.strip()} and {end}"
        )
    return before + begin, section, end + after
