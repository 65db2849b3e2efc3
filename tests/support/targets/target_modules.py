"""The modules of targets, generated once in a run and imported."""

import os
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from mcp_protogen.base.names import module_name
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.package import Package
from mcp_protogen.pipeline.target import TargetOptions
from support.generated.golden_package import REVISIONS
from support.generating import without_layout, write_files
from support.made_once import generated_once, once

_Make = Callable[[GenerationOptions], Package]


@cache
def folder(
    options: TargetOptions, revisions: tuple[str, ...] = REVISIONS, make: _Make = generated_once
) -> Path:
    """Return a package of a target for revisions; its name works in any process."""
    name = sha256(f"{options} {revisions}".encode()).hexdigest()[:8]
    parent = mkdtemp(prefix="target_", dir=os.environ["MADE_ONCE"])
    found = Path(parent) / f"made_by_{options.target}_{name}"
    # A single module is independent of other revisions, so all tests share it.
    asked = [(revision,) for revision in revisions] if options.layout == "single" else [revisions]
    for some in asked:
        write_files(make(GenerationOptions(some, target=options)).files, found)
    return found


def _make_quickly(options: GenerationOptions) -> Package:
    def make() -> Package:
        with without_layout():
            return generate(options)

    package: Package = once(f"package without layout {options}", make)
    return package


def module(options: TargetOptions, revision: str, among: tuple[str, ...] = ()) -> Any:
    """Return the module with the types of a revision, alone or in a package with others."""
    found = folder(options, among or (revision,), _make_quickly)
    if str(found.parent) not in sys.path:
        sys.path.append(str(found.parent))
    name = f"{found.name}.{module_name(revision)}"
    return import_module(name if options.layout == "single" else f"{name}.models")
