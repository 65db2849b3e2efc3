"""The list of unclear places, from their record and from the reasons of patches."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mcp_protogen.base import jsonpointer

from support.report.layers import REVISIONS
from support.report.schema_files import SCHEMA, read

Json = dict[str, Any]

KINDS: Final = {
    "schema": "Schema faults",
    "text": "Text unclear",
    "disagree": "Texts disagree, with each other or with the schema",
    "extension": "Extensions",
    "authorization": "Authorization",
}

_SPECIFICATION: Final = "https://modelcontextprotocol.io/specification"
_LEDGERS: Final = {
    **{revision: SCHEMA / revision for revision in REVISIONS},
    **{
        f"extension {extension}": SCHEMA / "extensions" / extension
        for extension in ("apps", "tasks")
    },
}


def group_places(places: Iterable[Json]) -> Iterator[tuple[str, list[Json]]]:
    """Yield the places of each kind, under its title, as the page shows them."""
    places = list(places)
    for kind, title in KINDS.items():
        yield title, [_display_place(place) for place in places if place["kind"] == kind]


def _display_place(place: Json) -> Json:
    tests = (f"`tests/{test}`" for test in place["shown_by"])
    facts = (f"`schema/{fact}`" for fact in place["recorded_in"])
    return {
        **place,
        "revisions": _span(place["revisions"]),
        "where": ", ".join(map(_link, place["where"])),
        "shown": ", ".join((*tests, *facts)),
    }


def _span(revisions: list[str]) -> str:
    first = REVISIONS.index(revisions[0])
    joined = (*revisions,) == REVISIONS[first : first + len(revisions)]
    whole = joined and len(revisions) > 2
    return f"{revisions[0]} to {revisions[-1]}" if whole else ", ".join(revisions)


def _link(place: str) -> str:
    """Return a page of a revision as a link, and anything else as code."""
    if not place.startswith(REVISIONS):
        return f"`{place}`"
    page, _, anchor = place.partition("#")
    # The site drops leading underscores of a heading like `_meta`.
    to = f"#{anchor.removeprefix('_')}" if anchor else ""
    return f"[{place}]({_SPECIFICATION}/{page.removesuffix('/index')}{to})"


def patched_pointers() -> Mapping[str, Mapping[str, list[str]]]:
    """Return the pointers of all patches, by reason and by revision or extension."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, folder in _LEDGERS.items():
        for entry in read(folder / "patches.json")["patches"]:
            pointers = found.setdefault(entry["reason"], {}).setdefault(name, [])
            pointers.append(entry["pointer"])
    return found


def reasons() -> Iterator[tuple[str, str, str]]:
    """Yield each reason for patches, how many each revision has, and an instance."""
    for reason, places in patched_pointers().items():
        numbers = ", ".join(f"{name}: {len(pointers)}" for name, pointers in places.items())
        last, *_ = [*places.values()][-1]
        steps = [step for step in jsonpointer.split(last)[1:] if step != "properties"]
        yield reason, numbers, f"`{'.'.join(steps)}`"
