"""Aliases of types, without any library."""

from mcp_protogen.pipeline.emit.text import docstring, literal
from mcp_protogen.pipeline.ir import AliasIR, UnionIR
from mcp_protogen.targets.python.annotations import alias_hint, either
from mcp_protogen.targets.python.modules import Imports

IMPORTS: Imports = {"typing": frozenset({"ForwardRef", "TYPE_CHECKING", "TypeAlias"})}
"""The imports of aliases."""


def alias_text(type_: UnionIR | AliasIR, *others: str, lazy: bool) -> str:
    """Return the definition of an alias, with `others` as further alternatives.

    A `lazy` one contains itself. For type checkers it is a quoted annotation; Python cannot combine
    that with other types, so at run time it is a reference that is resolved later.
    """
    annotation = either((alias_hint(type_), *others))
    doc = docstring(type_.doc, 4 if lazy else 0, of_member=True) if type_.doc else ""
    name, quoted = type_.name, literal(annotation)
    if not lazy:
        return "\n".join([f"{name}: TypeAlias = {annotation}", *([doc] if doc else [])])
    lines = ["if TYPE_CHECKING:", f"    {name}: TypeAlias = {quoted}"]
    lines += [f"    {doc}"] if doc else []
    return "\n".join([*lines, "else:", f"    {name} = ForwardRef({quoted}, module=__name__)"])
