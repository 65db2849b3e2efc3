"""The list of unclear places, from their record and from the reasons of patches."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from support.json_types import read_json
from support.report.layers import REVISIONS
from support.report.schema_files import SCHEMA

Json = dict[str, Any]

KINDS: Final = {
    "schema": "Schema faults",
    "text": "Text unclear",
    "disagree": "Texts disagree, with each other or with the schema",
    "extension": "Extensions",
    "authorization": "Authorization",
}

_SPECIFICATION: Final = "https://modelcontextprotocol.io/specification"
_END_OF_CLAUSE: Final = re.compile(r"[.;]( |$)|, so ")
_FOLDERS: Final = (
    *(SCHEMA / revision for revision in REVISIONS),
    *(SCHEMA / "extensions" / extension for extension in ("apps", "tasks")),
)


def group_places(places: Iterable[Json]) -> Iterator[tuple[str, list[Json]]]:
    """Yield the places of each kind, under its title, as the page shows them."""
    places = list(places)
    for kind, title in KINDS.items():
        yield title, [_display_place(place) for place in places if place["kind"] == kind]


def _display_place(place: Json) -> Json:
    where = ", ".join(map(_link, place["where"]))
    revisions: list[str] = place["revisions"]
    shown = len(revisions) == 1 and place["where"][0].startswith(revisions[0])
    return {**place, "where": where if shown else f"{_span(revisions)}, {where}"}


def _span(revisions: list[str]) -> str:
    first = REVISIONS.index(revisions[0])
    joined = (*revisions,) == REVISIONS[first : first + len(revisions)]
    if len(revisions) < 2 or not joined:
        return ", ".join(revisions)
    if revisions[-1] == REVISIONS[-1]:
        return f"since {revisions[0]}" if first else "all revisions"
    return f"{revisions[0]} to {revisions[-1]}" if first else f"until {revisions[-1]}"


def _link(place: str) -> str:
    """Return a page of a revision as a link, and anything else as code."""
    if not place.startswith(REVISIONS):
        return f"`{place}`"
    page, _, anchor = place.partition("#")
    # The site drops leading underscores of a heading like `_meta`.
    to = f"#{anchor.removeprefix('_')}" if anchor else ""
    return f"[{place}]({_SPECIFICATION}/{page.removesuffix('/index')}{to})"


def reasons() -> Counter[str]:
    """Count the patches by the first clause of their reason."""
    files = (read_json(folder / "patches.json") for folder in _FOLDERS)
    found = (entry["reason"] for file in files for entry in file["patches"])
    return Counter(_END_OF_CLAUSE.split(reason)[0] for reason in found)
