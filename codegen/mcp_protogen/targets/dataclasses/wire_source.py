"""The code beside generated dataclasses: the modules in the folder `wire`, as one."""

import ast
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from mcp_protogen.pipeline.emit.text import literal
from mcp_protogen.targets.python.modules import Imports, import_line

_FOLDER: Final = Path(__file__).parent / "wire"
_FUNCTIONS: Final = ("members", "reading", "writing")

PUBLIC: Final = frozenset(
    {"ABSENT", "Absent", "ClosedObject", "Limits", "OpenObject", "UnknownContent", "Wire"}
    | {"WireError", "WireMember", "WireObject", "from_wire", "members_of", "to_wire"}
)
"""The public names."""


class WireSource(NamedTuple):
    """The parts of a module: its imports, the bases of classes, and readers and writers."""

    imports: Imports
    objects: str
    functions: str

    def module(self) -> str:
        """Return them as a separate module."""
        imports = (import_line(module, names) for module, names in self.imports.items())
        return "\n\n".join(
            (
                '"""Reading and writing of the dataclasses in this package."""',
                "from __future__ import annotations",
                "\n".join(imports),
                f"__all__ = {literal(sorted(PUBLIC))}",
                self.objects,
                self.functions,
            )
        )


@cache
def wire_source() -> WireSource:
    """Return the modules as one, without the imports between them."""
    imports: defaultdict[str, set[str]] = defaultdict(set)
    objects, *functions = (_definitions(name, imports) for name in ("objects", *_FUNCTIONS))
    modules = {module: frozenset(imports[module]) for module in sorted(imports)}
    return WireSource(modules, objects, "\n\n\n".join(functions))


def _definitions(module: str, imports: Mapping[str, set[str]]) -> str:
    """Return a module's text after its imports, which are added to `imports`."""
    text = (_FOLDER / f"{module}.py").read_text(encoding="utf-8")
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    for node in nodes:
        if node.module is not None and not node.level:
            imports[node.module].update(alias.name for alias in node.names)
    return "\n".join(text.splitlines()[nodes[-1].end_lineno :]).strip()
