"""The target `msgspec`: what its types accept and keep, and how it reads whole messages."""

import json
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.target import TargetOptions
from support.generated import oracle
from support.generated.differential import same
from support.generated.golden_package import REVISIONS
from support.generated.instances import Instances
from support.generated.json_values import is_array, is_object
from support.targets import differential
from support.targets.differential import Difference
from support.targets.made import module

Json = dict[str, Any]

pytestmark = pytest.mark.long

OPTIONS = TargetOptions("msgspec")


@cache
def _decoder(revision: str, name: str) -> msgspec.json.Decoder[Any]:
    made = module(OPTIONS, revision)
    return msgspec.json.Decoder(getattr(made, name), dec_hook=made.dec_hook)


def _accepts(subject: str, value: Any) -> bool:
    try:
        _decoder(*subject.split()).decode(json.dumps(value))
    except msgspec.ValidationError:
        return False
    return True


def _any_metadata(document: Json) -> None:
    for schema in differential.objects(document):
        members: Any = schema.get("properties")
        if is_object(members) and "_meta" in members:
            # An object that declares nothing else is a dictionary, too.
            members["_meta"] = {"type": "object"} if len(members) > 1 else {}


def _tag_for_unions_only(document: Json) -> None:
    """Require the tag of a class where it is an arm of a union, and not where it stands alone."""
    for schema in differential.objects(document):
        arms: Any = schema.get("anyOf")  # in `properties`, it is a member of that name
        classes = [_referred(document, arm) for arm in arms] if is_array(arms) else []
        for member in ("type", "method"):
            tags = [one.get("properties", {}).get(member, {}).get("const") for one in classes]
            if len(set(tags) - {None}) == len(tags) > 1:
                for arm, class_ in zip(arms, classes, strict=True):
                    arm["required"] = [member]
                    class_["required"] = [one for one in class_["required"] if one != member]


def _referred(document: Json, arm: Json) -> Json:
    definition: Json = document["$defs"].get(str(arm.get("$ref")).rpartition("/")[2], {})
    return definition


METADATA = Difference("a Struct would drop what others put into `_meta`", _any_metadata)

TAGS = Difference("msgspec needs a tag only to choose from a union", _tag_for_unions_only)


def test_types_accept_what_the_schema_accepts_but_for_known_differences() -> None:
    differential.require_agreement(
        _accepts, (differential.ANY_JSON_SCHEMA, differential.EXACT_INTEGERS, METADATA, TAGS)
    )
