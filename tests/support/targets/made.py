"""Modules that targets make, generated once and imported."""

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from mcp_protogen.base.names import module_name
from mcp_protogen.config import GenerationOptions
from mcp_protogen.generate import generate
from mcp_protogen.target import TargetOptions

from support.generated.golden_package import REVISIONS


@cache
def folder(options: TargetOptions, revisions: tuple[str, ...] = REVISIONS) -> Path:
    """A package with what a target makes of revisions; its name is good in any process."""
    package = generate(GenerationOptions(revisions, target=options))
    found = Path(mkdtemp(prefix="target_")) / f"made_by_{options.target}_{abs(hash(options))}"
    for file in package.files:
        path = found / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
    return found


def module(options: TargetOptions, revision: str) -> Any:
    """The module with the types that a target makes of a revision."""
    found = folder(options)
    if str(found.parent) not in sys.path:
        sys.path.append(str(found.parent))
    name = f"{found.name}.{module_name(revision)}"
    return import_module(name if options.layout == "single" else f"{name}.models")
