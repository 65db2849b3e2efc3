"""Names that a module lists more than once: in `__all__`, in its imports, or as keys of a table."""

import ast
from collections.abc import Iterator
from typing import cast

from mcp_protogen.base.names import duplicates


def repeated_names(tree: ast.Module) -> list[str]:
    """Return the names that one list, block of imports or table has more than once."""
    return [name for listed in _lists(tree) for name in duplicates(listed)]


def _lists(tree: ast.Module) -> Iterator[list[str]]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            statements = cast(list[ast.stmt], body)
            imports = [
                statement
                for statement in statements
                if isinstance(statement, ast.Import | ast.ImportFrom)
            ]
            yield [
                alias.asname or alias.name
                for statement in imports
                for alias in statement.names
                if alias.name != "*"
            ]
        match node:
            case ast.Dict(keys=keys):
                yield [ast.dump(key) for key in keys if key is not None]
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=elements)):
                yield [ast.dump(element) for element in elements]
            case _:
                pass
