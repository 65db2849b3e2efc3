"""The addresses of the pages that are sources of facts and patches."""

from collections.abc import Mapping
from typing import Final

from mcp_protogen.pipeline.inputs.descriptions import SITE
from mcp_protogen.pipeline.inputs.pins import load_extension_pins, load_pins

_SCHEMA_TS: Final = "schema.ts"
_CORE: Final = ("basic/", "client/", "server/")
# The specifications of extensions are in separate repositories.
_EXTENSIONS: Final[Mapping[str, str]] = {
    "apps": "https://github.com/modelcontextprotocol/ext-apps/blob/main"
    "/specification/2026-01-26/apps.mdx",
    "tasks": "https://github.com/modelcontextprotocol/ext-tasks/blob/main"
    "/specification/2026-07-28/tasks.md",
}
_OF_SITE: Final[Mapping[str, str]] = {"seps/": "/seps/", "docs/": "/"}
"""Beginnings of pages outside of a revision, and their addresses."""


def page_of(source: str, revision: str, extension: str = "") -> str:
    """Return the address of a source, as a fact names it; empty if its page is unknown."""
    page, _, anchor = source.partition("#")
    if page == _SCHEMA_TS:
        return _schema_ts(revision, extension)
    # The site leaves out the first character of a heading like `_meta`.
    to = f"#{anchor.removeprefix('_')}" if anchor else ""
    if page.startswith(_CORE):
        return f"{SITE}/specification/{revision}/{page.removesuffix('/index')}{to}"
    if page in _EXTENSIONS:
        return _EXTENSIONS[page] + to
    for start, place in _OF_SITE.items():
        if page.startswith(start):
            return SITE + place + page.removeprefix(start) + to
    return ""


def _schema_ts(revision: str, extension: str) -> str:
    """Return the address of the TypeScript source beside a published schema."""
    pins = load_extension_pins() if extension else load_pins()
    pin = pins.get(extension or revision)
    if pin is None or pin.published.spec_commit is None:
        return ""
    folder = pin.spec_path.rpartition("/")[0]
    return f"{pin.repository}/blob/{pin.published.spec_commit}/{folder}/schema.ts"
