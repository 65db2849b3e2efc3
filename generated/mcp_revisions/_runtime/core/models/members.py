"""Signatures of models and texts of their members, made when they are asked for."""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from inspect import Parameter, Signature
from itertools import pairwise

from pydantic import BaseModel
from pydantic.fields import FieldInfo


def signature(cls: type[BaseModel]) -> Signature:
    """Return the signature of a model; `...` is an object of usual values."""
    cls.model_rebuild(raise_errors=False)
    return Signature([_parameter(name, field) for name, field in cls.__pydantic_fields__.items()])


def _parameter(name: str, field: FieldInfo) -> Parameter:
    given = ... if type(field.default) is object else field.default
    given = Parameter.empty if field.is_required() else given
    return Parameter(name, Parameter.KEYWORD_ONLY, default=given, annotation=field.annotation)


def described(cls: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model, with the docstrings of members as descriptions."""
    cls.model_rebuild(raise_errors=False)
    fields, texts = cls.__pydantic_fields__, dict[str, str]()
    for base in reversed(cls.__mro__):
        if issubclass(base, BaseModel) and vars(base).get("__pydantic_fields__"):
            texts |= _texts(base.__module__).get(base.__qualname__, {})
    for name, field in fields.items():
        field.description = field.description or texts.get(name)
    return fields


@cache
def _texts(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the docstrings of members by class; none if the module has no source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        return {}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {node.name: dict(_docstrings(node.body)) for node in classes}


def _docstrings(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for pair in pairwise(body):
        match pair:
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, inspect.cleandoc(text).strip()
            case _:
                pass
