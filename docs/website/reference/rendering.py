"""A class, function or value as Markdown: signature, docstring, and its members."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from griffe import Attribute, Class, Function, Object, Parameter, ParameterKind

from website.markdown import cell, code, table
from website.reference.reading import members, options_of

_WIDTH: Final = 88
_STARRED: Final = {ParameterKind.var_positional: "*", ParameterKind.var_keyword: "**"}
_DECORATORS: Final = ("classmethod", "staticmethod", "asynccontextmanager", "contextmanager")
"""Decorators that callers see."""
_FINAL: Final = re.compile(r"^Final(?:\[(.*)\])?$")

Options = dict[str, Class]
"""The `TypedDict`s of options of the functions of a page, by name."""


def render(name: str, of: Object, options: Options, *, called: bool = False) -> str:
    """Return the text below the heading of a public name; `called` is for a callable instance.

    Note the options of functions in `options`.
    """
    match of:
        case Class() if called:
            return _instance(name, of, options)
        case Class():
            return "\n".join(_class(name, of, options))
        case Function():
            return _function(name, of, options)
        case Attribute():
            return f"{_code([_value(name, of)])}\n{text(of)}"
        case _:
            raise TypeError(f"{name} is {of.kind}")


def text(of: Object) -> str:
    return f"{of.docstring.value}\n" if of.docstring else ""


def heading(level: int, name: str, anchor: str) -> str:
    """Return a heading with an explicit anchor, since some names differ only in capitals."""
    return f"{'#' * level} `{name}` {{ #{anchor} }}\n"


def _value(name: str, of: Attribute) -> str:
    """Return the type of a value, or the value of an alias or a constant."""
    if of.annotation is None or str(of.annotation).partition("[")[0] in ("Final", "TypeAlias"):
        return f"{name} = {of.value}"
    return f"{name}: {of.annotation}"


def _function(name: str, of: Function, options: Options, described: str = "") -> str:
    found = {one.name: one for signature in _signatures(of) if (one := options_of(signature))}
    options |= found
    links = ", ".join(f"[`{part}`](#{part})" for part in found)
    said = f"Options: {links}.\n" if links else ""
    signatures = [_signature(name, signature) for signature in _signatures(of)]
    return "\n".join(filter(None, (_code(signatures), described or text(of), said)))


def fields(of: Class, *, undocumented: bool = False) -> str:
    """Return the table of the members of a class other than functions."""
    found = [
        member for member in members(of, undocumented=undocumented) if isinstance(member, Attribute)
    ]
    return table(("member", "type", "default", "what it is"), map(_field, found)) if found else ""


def _class(name: str, of: Class, options: Options) -> Iterator[str]:
    found = list(members(of))
    bases = ", ".join(base for base in map(str, of.bases) if not base.startswith("_"))
    yield _code([f"class {name}({bases})" if bases else f"class {name}"])
    yield text(of)
    yield fields(of)
    for part in found:
        if isinstance(part, Function):
            yield heading(4, f"{name}.{part.name}", f"{name}.{part.name}")
            yield _function(part.name, part, options)


def _instance(name: str, of: Class, options: Options) -> str:
    """Return an instance that is called like a function."""
    (call,) = (member for member in of.members.values() if member.name == "__call__")
    if not isinstance(call, Function):
        raise TypeError(f"{name} cannot be called")
    return _function(name, call, options, text(call) or text(of))


def _field(one: Attribute) -> Sequence[str]:
    annotation = _FINAL.sub(r"\1", str(one.annotation or ""))
    annotated = code(annotation) if annotation else ""
    has_default = one.value is not None and "class-attribute" in one.labels
    default = code(str(one.value)) if has_default else ""
    return f"`{one.name}`", annotated, default, cell(text(one))


def _signatures(of: Function) -> list[Function]:
    """Return a function, or its overloads, as callers see it."""
    return of.overloads or [of]


def _signature(name: str, of: Function) -> str:
    said = [str(decorator.value) for decorator in of.decorators]
    decorator = "".join(f"@{text}\n" for text in said if text in _DECORATORS)
    before = f"{decorator}{'async def' if 'async' in of.labels else 'def'}"
    parameters = list(_parameters(of))
    returned = f" -> {of.returns}" if of.returns else ""
    line = f"{before} {name}({', '.join(parameters)}){returned}"
    if len(line) - len(decorator) <= _WIDTH:
        return line
    lines = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"{before} {name}(\n{lines}){returned}"


def _parameters(of: Function) -> Iterator[str]:
    star = slash = False
    for parameter in of.parameters:
        if parameter.name in ("self", "cls"):
            continue
        if slash and parameter.kind is not ParameterKind.positional_only:
            yield "/"
        slash = parameter.kind is ParameterKind.positional_only
        if parameter.kind is ParameterKind.keyword_only and not star:
            yield "*"
            star = True
        star |= parameter.kind is ParameterKind.var_positional
        yield _parameter(parameter)
    if slash:
        yield "/"


def _parameter(one: Parameter) -> str:
    said = f"{_STARRED.get(one.kind, '') if one.kind else ''}{one.name}"
    annotated = f"{said}: {one.annotation}" if one.annotation else said
    if one.default is None or one.kind in _STARRED:
        return annotated
    # A private name is the default of its class.
    default = "..." if str(one.default).startswith("_") else one.default
    return f"{annotated} = {default}" if one.annotation else f"{said}={default}"


def _code(lines: Iterable[str]) -> str:
    return "```python\n" + "\n".join(lines) + "\n```\n"
