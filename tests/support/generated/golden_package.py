"""The committed package, and files that the tests read from it and beside it.

The package is imported as users import it, never copied; it lists its own revisions.
"""

from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import mcp_revisions
from mcp_protogen.base.names import extension_module, module_name
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names
from support import missing
from support.folders import GENERATED
from support.json_types import read_json

PACKAGE = GENERATED / "mcp_revisions"

REVISIONS: tuple[str, ...] = tuple(known.id for known in mcp_revisions.REVISIONS)

EXTENSIONS = MappingProxyType(dict.fromkeys(extension_names()))
"""All that are pinned, as the options of a generation name them."""

EXTENDED: tuple[str, ...] = tuple(
    f"{revision}+{name}"
    for revision in REVISIONS
    for name in EXTENSIONS
    if (PACKAGE / module_name(revision) / "ext" / extension_module(name)).is_dir()
)
"""Revisions with one of their extensions, whose types are the subject."""


def load(revision: str) -> Any:
    """The generated code of one revision, or of one of its extensions."""
    core, _, extension = revision.partition("+")
    package = mcp_revisions.load(core)
    if not extension:
        return package
    return import_module(f"{package.__name__}.ext.{extension_module(extension)}")


@cache
def shared_json(path: str, shown: str) -> Any:
    """Return a reference file; skip the test without it."""
    return read_json(missing.reference(path, shown))
