"""The values that types of the official Python SDK and generated replacements accept.

Reads a line of JSON from stdin for each pair of modules: `theirs`, `ours`, and `vectors`, which are
pairs of a type and a value. Writes a line for each: `classes` of both, and `verdicts` on vectors.
"""

import importlib
import inspect
import json
import sys
from types import ModuleType
from typing import Any

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError


def describe_module(module: ModuleType) -> dict[str, Any]:
    """The classes of a module: whether they are open, and their members by name on the wire."""
    return {
        name: {
            "open": kind.model_config.get("extra") == "allow",
            "members": {
                field.alias or attribute: [attribute, field.is_required()]
                for attribute, field in kind.model_fields.items()
            },
        }
        for name, kind in vars(module).items()
        if inspect.isclass(kind)
        and issubclass(kind, BaseModel)
        and not issubclass(kind, RootModel)
        and (kind.__module__, kind.__name__) == (module.__name__, name)
    }


def accepts(reader: TypeAdapter[Any], value: Any) -> bool:
    """Whether a type accepts a value, as the sessions of the SDK ask."""
    try:
        reader.validate_python(value, by_name=False)
    except ValidationError:
        return False
    return True


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to one line; a vector whose type one of both lacks has no verdict."""
    modules = [importlib.import_module(asked[side]) for side in ("theirs", "ours")]
    names = {
        name for name, _ in asked["vectors"] if all(hasattr(module, name) for module in modules)
    }
    readers = {name: [TypeAdapter(getattr(module, name)) for module in modules] for name in names}
    verdicts = [
        [accepts(reader, value) for reader in readers[name]] if name in readers else None
        for name, value in asked["vectors"]
    ]
    return {"classes": [describe_module(module) for module in modules], "verdicts": verdicts}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
