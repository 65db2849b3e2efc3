"""Small targets made of a few lines, and what an audit says of them."""

import sys
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

from mcp_protogen.audit.engine import Audit, Options, audit
from mcp_protogen.audit.target import Target, find
from mcp_protogen.compare.change import Change

HERE = Path(__file__).resolve().parent
# Environments are made here in the same way as for foreign peers.
sys.path.append(str(HERE.parent / "peers"))

from places import made, run_command  # noqa: E402

REVISION = "2025-11-25"

PYDANTIC = """
    from typing import Any, Literal
    from pydantic import BaseModel, ConfigDict, Field, RootModel
    """
"""What targets of Pydantic models start with."""


def target(folder: Path, source: str, name: str = "sdk") -> Target:
    """A folder with one module as a target."""
    folder.mkdir(exist_ok=True, parents=True)
    (folder / f"{name}.py").write_text(dedent(source), encoding="utf-8")
    return find(str(folder))


def audited(folder: Path, source: str, *, vectors: bool = False, **options: Any) -> Audit:
    """The audit of a module; without vectors unless they are wanted."""
    chosen = Options(vectors=vectors, **options)
    return audit(target(folder, source), REVISION, chosen)


def findings(found: Audit) -> dict[tuple[str, str], Change]:
    """The findings by code and item."""
    return {(change.code, change.item): change for change in found.comparison.changes}


def codes_about(found: Audit, item: str) -> set[str]:
    """The codes of the findings about an item, or about something in it."""
    changes = found.comparison.changes
    return {
        change.code
        for change in changes
        if change.item == item or change.item.startswith((f"{item}.", f"{item} "))
    }


@cache
def python_with(name: str) -> Path:
    """The interpreter of an environment with what `requirements-<name>.txt` beside this lists."""
    pins = HERE / f"requirements-{name}.txt"

    def make(folder: Path) -> None:
        run_command([sys.executable, "-m", "venv", "--clear", folder])
        run_command([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", pins])

    return made(f"audit-{name}", f"{sys.version}{pins.read_text()}", make) / "bin" / "python"
