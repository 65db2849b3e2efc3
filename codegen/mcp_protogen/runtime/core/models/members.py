"""Signatures of models and descriptions of their members, computed on demand."""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from copy import copy
from functools import cache
from inspect import Parameter, Signature
from itertools import pairwise

from pydantic import BaseModel
from pydantic.fields import FieldInfo


def signature(cls: type[BaseModel]) -> Signature:
    """Return the signature of a model; `...` stands for a default object."""
    cls.model_rebuild(raise_errors=False)
    if not hasattr(cls.__init__, "__pydantic_base_init__"):
        return inspect.signature(cls.__init__.__get__(cls))
    return Signature([_parameter(name, field) for name, field in cls.__pydantic_fields__.items()])


def _parameter(name: str, field: FieldInfo) -> Parameter:
    default = ... if type(field.default) is object else field.default
    default = Parameter.empty if field.is_required() else default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=field.annotation)


def describe_fields(cls: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return copies of the fields, with member docstrings as descriptions."""
    cls.model_rebuild(raise_errors=False)
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, BaseModel) and vars(base).get("__pydantic_fields__"):
            texts |= _texts(base.__module__).get(base.__qualname__, {})
    fields = {name: copy(field) for name, field in cls.__pydantic_fields__.items()}
    for name, field in fields.items():
        field.description = field.description or texts.get(name)
    return fields


@cache
def _texts(module: str) -> Mapping[str, Mapping[str, str]]:
    try:
        return dict(_classes(ast.parse(inspect.getsource(sys.modules[module]))))
    except (KeyError, OSError, TypeError):
        return {}  # the module has no source


def _classes(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Mapping[str, str]]]:
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.ClassDef(name):
                yield prefix + name, dict(_docstrings(node.body))
                yield from _classes(node, f"{prefix}{name}.")
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                yield from _classes(node, f"{prefix}{name}.<locals>.")
            case _:
                yield from _classes(node, prefix)


def _docstrings(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for pair in pairwise(body):
        match pair:
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, inspect.cleandoc(text).strip()
            case _:
                pass
