"""The frontmatter of `SKILL.md`: YAML between two lines of three hyphens, as a JSON object.

It is read by the core schema of YAML 1.2.2 (section 10.3), and must be JSON, so that both sides
read the same (ext-skills, "Frontmatter Verification").
"""

import re
from functools import cache
from math import isfinite
from typing import Any, Final

from ...core.json import JSONObject, is_array, is_object, is_same
from ...core.libraries import library

_BLOCK: Final = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.M)
# Parsing is slow per character.
_LARGEST: Final = 64 * 1024

_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
# YAML 1.2.2, section 10.3.2; with the first characters of each scalar.
_CORE: Final = (
    ("tag:yaml.org,2002:null", r"null|Null|NULL|~|", ["n", "N", "~", ""]),
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    (_INT, r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        _FLOAT,
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
)


class InvalidFrontmatter(ValueError):
    """The frontmatter is missing, or not a JSON object."""


def frontmatter_of(text: str) -> JSONObject:
    """Return the frontmatter of a `SKILL.md`; raise `InvalidFrontmatter`."""
    block = _BLOCK.match(text)
    if block is None:
        raise InvalidFrontmatter("it must begin with YAML between two lines of ---")
    if len(block[1]) > _LARGEST:
        raise InvalidFrontmatter(f"its frontmatter is longer than {_LARGEST} characters")
    yaml = library("yaml", "a skill", "pyyaml")
    try:
        found = yaml.load(block[1], Loader=_loader(yaml))
    except (yaml.YAMLError, ValueError) as error:
        said = " ".join(str(error).split())
        raise InvalidFrontmatter(f"its frontmatter cannot be read: {said:.300}") from None
    except RecursionError:
        raise InvalidFrontmatter("its frontmatter is nested too deeply") from None
    if not is_object(found) or not _is_json(found):
        raise InvalidFrontmatter("its frontmatter must be a JSON object")
    return found


def is_equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; Python also equates 1 and `True`."""
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(is_equal(one[key], other[key]) for key in one)
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return is_same(one, other)


def _is_json(value: Any) -> bool:
    if is_object(value):
        return all(map(_is_json, value.values()))
    if is_array(value):
        return all(map(_is_json, value))
    if isinstance(value, float):
        return isfinite(value)
    return value is None or isinstance(value, str | int)


@cache
def _loader(yaml: Any) -> Any:
    """Return a loader of the core schema; PyYAML's own reads YAML 1.1."""

    def compose(self: Any, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed")
        return yaml.SafeLoader.compose_node(self, parent, index)

    def mapping(self: Any, node: Any) -> Any:
        found: JSONObject = {}
        for key_node, value in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in found:
                raise ValueError(f"the key {key!r:.100} must be a string, and unique")
            found[key] = self.construct_object(value, deep=True)
        return found

    def integer(self: Any, node: Any) -> int:
        text = self.construct_scalar(node)
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)

    def number(self: Any, node: Any) -> float:
        return float(self.construct_scalar(node).replace(".inf", "inf").replace(".nan", "nan"))

    loader: Any = type("_Loader", (yaml.SafeLoader,), {"compose_node": compose})
    loader.yaml_implicit_resolvers = {}
    for tag, pattern, begins in _CORE:
        loader.add_implicit_resolver(tag, re.compile(f"(?:{pattern})\\Z"), begins)
    loader.add_constructor("tag:yaml.org,2002:map", mapping)
    loader.add_constructor(_INT, integer)
    loader.add_constructor(_FLOAT, number)
    return loader
