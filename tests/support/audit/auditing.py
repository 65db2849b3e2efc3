"""Small SDKs of a few lines, and their findings."""

from pathlib import Path
from textwrap import dedent
from typing import Any

from mcp_protogen.instep.audit.run_audit import Audit, AuditOptions, audit
from mcp_protogen.instep.audit.sdk import Sdk, find
from mcp_protogen.pipeline.reports.change import ReportedChange
from support.peers.places import python_with as python_with

REVISION = "2025-11-25"

PYDANTIC = """
    from typing import Any, Literal
    from pydantic import BaseModel, ConfigDict, Field, RootModel
    """
"""The start of SDKs with Pydantic models."""


ROOT = """
import typing
class Root(typing.TypedDict):
    uri: str
"""
"""An SDK that is described at once: importing Pydantic takes longer than all else."""


def write_sdk(folder: Path, source: str, name: str = "sdk") -> Sdk:
    """Write one module into a folder, and return the SDK."""
    folder.mkdir(exist_ok=True, parents=True)
    (folder / f"{name}.py").write_text(dedent(source), encoding="utf-8")
    return find(str(folder))


def run_audit(folder: Path, source: str, *, vectors: bool = False, **options: Any) -> Audit:
    """Audit a module, without vectors by default."""
    chosen = AuditOptions(vectors=vectors, **options)
    return audit(write_sdk(folder, source), REVISION, chosen)


def findings(found: Audit) -> dict[tuple[str, str], ReportedChange]:
    return {(change.code, change.item): change for change in found.comparison.changes}


def codes_about(found: Audit, item: str) -> set[str]:
    """Return the codes of the findings about an item or a part of it."""
    changes = found.comparison.changes
    return {
        change.code
        for change in changes
        if change.item == item or change.item.startswith((f"{item}.", f"{item} "))
    }
