"""The modules of targets, generated once in a run and imported."""

import os
import sys
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from mcp_protogen.base.names import module_name
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.target import TargetOptions

from support.generated.golden_package import REVISIONS
from support.made_once import generated_once


@cache
def folder(options: TargetOptions, revisions: tuple[str, ...] = REVISIONS) -> Path:
    """Return a package of a target for revisions; its name works in any process."""
    name = sha256(f"{options} {revisions}".encode()).hexdigest()[:8]
    parent = mkdtemp(prefix="target_", dir=os.environ["MADE_ONCE"])
    found = Path(parent) / f"made_by_{options.target}_{name}"
    # A single module is independent of other revisions, so all tests share it.
    asked = [(revision,) for revision in revisions] if options.layout == "single" else [revisions]
    for some in asked:
        for file in generated_once(GenerationOptions(some, target=options)).files:
            path = found / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
    return found


def module(options: TargetOptions, revision: str, among: tuple[str, ...] = ()) -> Any:
    """Return the module with the types of a revision, alone or in a package with others."""
    found = folder(options, among or (revision,))
    if str(found.parent) not in sys.path:
        sys.path.append(str(found.parent))
    name = f"{found.name}.{module_name(revision)}"
    return import_module(name if options.layout == "single" else f"{name}.models")
