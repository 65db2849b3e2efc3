"""A comparison as one page for a browser, which loads nothing else.

Style and script are in the page. All content is in the markup, so that the page can be read without
its script, which only filters. Names and defaults come from foreign schemas: they are escaped, and
a content security policy allows only the page's script, by its digest.
"""

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING

from mcp_protogen.base.printable import safe_line
from mcp_protogen.base.resources import templates_folder
from mcp_protogen.pipeline.reports.change import Comparison, Matrix, Reader, Severity
from mcp_protogen.pipeline.reports.pages.harmless import make_safe
from mcp_protogen.pipeline.reports.pages.headline import headline
from mcp_protogen.pipeline.reports.pages.html_views import (
    DESCRIPTIONS,
    categories_of,
    groups_of,
    sections_of,
)
from mcp_protogen.pipeline.reports.pages.ranking import HEADINGS, counts, summary

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = "compare"


def render(comparison: Comparison, matrix: Matrix | None, *, reader: Reader | None) -> str:
    """Return the page; without a matrix, it only has the changes."""
    safe = make_safe(comparison)
    style, script = _file("base.css") + _file("page.css"), _file("page.js")
    template = _environment().get_template("page.html.jinja")
    return template.render(
        before=safe.before,
        after=safe.after,
        reader=reader,
        headline=headline(safe, reader),
        summary=summary(safe, reader),
        overview=safe.overview,
        tally=_tally(safe),
        sections=sections_of(safe, reader),
        columns=[*map(safe_line, matrix.revisions if matrix else ())],
        groups=groups_of(matrix),
        headings=HEADINGS,
        descriptions=DESCRIPTIONS,
        categories=categories_of(safe, matrix),
        notes=safe.notes,
        style=style,
        script=script,
        policy=_policy(style, script),
    )


def _tally(comparison: Comparison) -> dict[Reader, dict[Severity, int]]:
    return {
        reader: dict(counts(change.severity_for(reader) for change in comparison.changes))
        for reader in comparison.readers
    }


@cache
def _environment() -> "Environment":
    # Slow to import, and no other format of a comparison needs it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(templates_folder() / _FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def _file(name: str) -> str:
    return (templates_folder() / _FOLDER / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return the content security policy: the page's own style and script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
