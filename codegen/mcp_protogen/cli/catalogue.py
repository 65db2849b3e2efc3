"""The revisions that can be generated, as a report."""

from typing import Any

from mcp_protogen.findings.report import Report, Status
from mcp_protogen.inputs.pins import Pin, load_pins


def catalogue() -> Report:
    """Return every pinned revision with the publication it stands for."""
    pins = load_pins()
    rows = tuple(_row(revision, pin) for revision, pin in pins.items())
    lines = [f"{r['revision']:<12} {r['sha256'][:12]}  {r['published'] or '':<10}" for r in rows]
    heading = f"{'revision':<12} {'sha256':<12}  published"
    return Report("revisions", Status.FINE, (heading, *map(str.rstrip, lines)), revisions=rows)


def _row(revision: str, pin: Pin) -> dict[str, Any]:
    return {
        "revision": revision,
        "sha256": pin.published.sha256,
        "published": pin.published.date,
        "earlier_publications": len(pin.history),
        "repository": pin.repository,
        "spec_path": pin.spec_path,
        "spec_commit": pin.published.spec_commit,
    }
