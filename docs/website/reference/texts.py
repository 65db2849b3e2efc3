"""The page of all texts that users meet: problems, errors and log entries, as the code has them."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from website.markdown import cell, code, table
from website.places import ROOT

_CODE: Final = ROOT / "codegen" / "mcp_protogen"
_LEVELS: Final = {"debug", "info", "warning", "error", "exception", "critical"}


class Text(NamedTuple):
    """A text to users: its module, the code, error class or log level, the text, and the hint."""

    module: str
    kind: str
    text: str
    hint: str = ""


def texts() -> str:
    """Return the page of texts, a table for each package."""
    lines = [
        "# Reference: texts\n",
        "Every text of a problem, an error or a log entry. Braces stand for values."
        " `mcp-gen explain CODE` explains the [codes](reference-codes.md) of problems.\n",
    ]
    for package, found in groupby(find_texts(), lambda text: text.module.rpartition("/")[0]):
        rows = (_row(text) for text in found)
        lines += [f"## `{package}`\n", table(("code, error or level", "text", "hint"), rows)]
    return "\n".join(lines)


def find_texts() -> Iterator[Text]:
    """Yield the texts of all modules, sorted by module."""
    for path in sorted(_CODE.rglob("*.py"), key=lambda path: (path.parent, path.name)):
        module = path.relative_to(_CODE).as_posix()
        found = texts_of(module, path.read_text(encoding="utf-8"))
        yield from (text for text in found if text.text)


def texts_of(module: str, source: str) -> Iterator[Text]:
    """Yield the texts in the source of a module, those of variables at their use."""
    assigned: dict[str, ast.expr] = {}
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt | ast.Call))
    for node in sorted(nodes, key=lambda node: (node.lineno, isinstance(node, ast.Call))):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                assigned[name] = value
            case ast.Raise(exc=ast.Call(args=[text, *_]) as call):
                yield Text(module, _name(call), as_text(text, assigned))
            case ast.Call(func=func, args=[kind, text, *_]) if ast.unparse(func) == "Problem":
                hints = (word.value for word in node.keywords if word.arg == "hint")
                hint = as_text(next(hints, ast.Constant("")), assigned)
                yield Text(module, as_text(kind, assigned), as_text(text, assigned), hint)
            case ast.Call(func=ast.Attribute(attr=level), args=[text, *_]) if level in _LEVELS:
                yield Text(module, level, as_text(text, assigned))
            case _:
                pass


def as_text(node: ast.expr, assigned: Mapping[str, ast.expr]) -> str:
    """Return a text with its values in braces; empty if the node is not a text."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(as_text(part, {}) for part in values)
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return as_text(left, assigned) + as_text(right, assigned)
        case ast.IfExp(body=body, orelse=orelse):
            return " / ".join(filter(None, (as_text(body, assigned), as_text(orelse, assigned))))
        case ast.Name(id=name) if name in assigned:
            return as_text(assigned[name], {})
        case _:
            return ""


def _name(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _row(text: Text) -> Sequence[str]:
    hint = code(text.hint) if text.hint else ""
    return cell(text.kind), code(text.text), hint
