"""Reads the section of a version in CHANGELOG.md, and checks that it may be released."""

import re
from pathlib import Path
from typing import Final

UNRELEASED: Final = "Unreleased"
_HEADING: Final = re.compile(r"^## (?P<name>\S+)(?: - (?P<date>\d{4}-\d{2}-\d{2}))?$")
_VERSION: Final = re.compile(r'^__version__ = "(?P<version>[^"]+)"$', re.MULTILINE)


class NotReleasable(Exception):
    """Version, tag, changelog or files of a release do not fit together."""


def version_of(tree: Path) -> str:
    """Return the version of everything in a tree of the sources."""
    place = tree / "codegen" / "mcp_protogen" / "runtime" / "__init__.py"
    found = _VERSION.search(place.read_text(encoding="utf-8"))
    if found is None:
        raise NotReleasable(f"{place} has no __version__")
    return found["version"]


def sections(text: str) -> dict[str, tuple[str, str]]:
    """Return the date, which may be empty, and the text of each section of a changelog."""
    found: dict[str, tuple[str, str]] = {}
    name, date, lines = "", "", list[str]()
    for line in [*text.splitlines(), "## end"]:
        heading = _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        if name:
            found[name] = (date, "\n".join(lines).strip())
        name, date, lines = heading["name"], heading["date"] or "", []
    return found


def notes(text: str, version: str, tag: str | None = None) -> str:
    """Return the notes of a release, from the text of a changelog.

    Raise `NotReleasable` unless the version has a dated section, nothing is left under
    "Unreleased", and `tag`, if there is one, is that of the version.
    """
    if tag is not None and tag != f"v{version}":
        raise NotReleasable(f"the tag {tag} is not v{version}, the version in the sources")
    found = sections(text)
    date, said = found.get(version, ("", ""))
    if not date or not said:
        raise NotReleasable(f"CHANGELOG.md needs a section: ## {version} - YYYY-MM-DD")
    if tag is not None and found.get(UNRELEASED, ("", ""))[1]:
        raise NotReleasable(f"CHANGELOG.md has entries under {UNRELEASED}: move them to {version}")
    return f"{said}\n"
