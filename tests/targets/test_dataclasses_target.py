"""The target `dataclasses`: what its functions accept, and that they write what they read."""

from typing import Any

import pytest
from mcp_protogen.target import TargetOptions
from support.generated import oracle
from support.generated.differential import same
from support.targets import differential
from support.targets.made import module

pytestmark = pytest.mark.long

OPTIONS = TargetOptions("dataclasses")
OPEN_CONTENT = differential.Difference(*oracle.WANTED[0])


def _accepts(subject: str, value: Any) -> bool:
    revision, name = subject.split()
    made = module(OPTIONS, revision)
    try:
        read = made.from_wire(getattr(made, name), value)
    except made.WireError:
        return False
    assert same(made.to_wire(read), value, exact=False), f"{subject} {value!r:.300}"
    return True


def test_functions_accept_what_the_schema_accepts_and_write_it_back() -> None:
    differential.require_agreement(_accepts, (differential.ANY_JSON_SCHEMA, OPEN_CONTENT))
