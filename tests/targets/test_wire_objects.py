"""Dataclasses of the target that are told apart by a constant, or else by their members."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from mcp_protogen.targets.dataclasses.wire.objects import OpenObject, WireError
from mcp_protogen.targets.dataclasses.wire.reading import from_wire


@dataclass(slots=True, kw_only=True)
class Text(OpenObject):
    type: Literal["item"] = "item"
    text: str


@dataclass(slots=True, kw_only=True)
class Number(OpenObject):
    type: Literal["item"] = "item"
    number: int


@dataclass(slots=True, kw_only=True)
class Link(OpenObject):
    type: Literal["link"] = "link"
    text: str


def test_a_constant_that_several_classes_have_tells_nothing() -> None:
    either: Any = Text | Number
    for value, kind in (({"text": ""}, Text), ({"number": 7}, Number)):
        assert type(from_wire(either, {"type": "item", **value})) is kind


def test_constants_that_differ_decide() -> None:
    either: Any = Text | Link
    assert type(from_wire(either, {"type": "link", "text": ""})) is Link
    with pytest.raises(WireError, match="one of item, link is expected"):
        from_wire(either, {"type": "other", "text": ""})
