"""The sealed state that travels between rounds of one request."""

import subprocess
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.core.errors import InvalidParams
from mcp_protogen.runtime.server.sealed_state import StateSeal, binding
from support.tables import case

KEY = b"k" * 32
BOUND = binding("tools/call", {"name": "a"}, None, "s")


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def check_refused(seal: StateSeal, text: str, bound: bytes = BOUND) -> None:
    with pytest.raises(InvalidParams) as caught:
        seal.open(text, bound)
    assert caught.value.problems[0][0] == "/params/requestState"


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_sealed_state_opens_to_same_value(value: object) -> None:
    seal = StateSeal([KEY])
    assert seal.open(seal.seal(value, BOUND), BOUND) == value


def test_a_changed_state_is_refused() -> None:
    seal = StateSeal([KEY])
    raw = urlsafe_b64decode(seal.seal({"a": 1}, BOUND) + "==")
    for place in range(len(raw)):
        changed = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        check_refused(seal, urlsafe_b64encode(changed).rstrip(b"=").decode())


def test_invalid_state_is_refused() -> None:
    for text in ["", "x", "AAAA", "ä", "=", "!!!!", "A" * 2_000_000, "A" * 100, "\n", "AA=="]:
        with case(text):
            check_refused(StateSeal([KEY]), text)


def test_a_shortened_or_padded_state_is_refused() -> None:
    seal = StateSeal([KEY])
    text = seal.seal("x" * 50, BOUND)
    for length in range(len(text)):
        check_refused(seal, text[:length])
    check_refused(seal, text + "=")
    check_refused(seal, text + "\n")


def test_a_state_of_another_request_caller_or_server_is_refused() -> None:
    for bound in [
        binding("prompts/get", {"name": "a"}, None, "s"),
        binding("tools/call", {"name": "b"}, None, "s"),
        binding("tools/call", {"name": "a"}, "eve", "s"),
        binding("tools/call", {"name": "a"}, "", "s"),
        binding("tools/call", {"name": "a"}, None, "t"),
    ]:
        with case(bound):
            seal = StateSeal([KEY])
            check_refused(seal, seal.seal(1, bound))
            check_refused(seal, seal.seal(1, BOUND), bound)


def test_a_state_lapses() -> None:
    clock = Clock()
    seal = StateSeal([KEY], lifetime=60, clock=clock)
    text = seal.seal(1, BOUND)
    clock.now += 60
    assert seal.open(text, BOUND) == 1
    clock.now += 1
    check_refused(seal, text)


def test_without_a_key_it_is_one_of_this_process() -> None:
    text = StateSeal().seal(1, BOUND)
    assert StateSeal().open(text, BOUND) == 1
    program = (
        "from mcp_protogen.runtime.server import sealed_state as r; "
        f"print(r.StateSeal().seal(1, {BOUND!r}))"
    )
    there = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    check_refused(StateSeal(), there.stdout.strip())


def test_another_key_opens_nothing() -> None:
    assert StateSeal([KEY]).open(StateSeal([KEY]).seal(1, BOUND), BOUND) == 1
    check_refused(StateSeal([b"l" * 32]), StateSeal([KEY]).seal(1, BOUND))


def test_the_first_key_seals_and_all_of_them_open() -> None:
    old, new = KEY, b"l" * 32
    for before, after in [([old], [old, new]), ([old, new], [new, old]), ([new, old], [new])]:
        # Each step of an exchange of keys, while others are still at the step before.
        for sealing, opening in [(before, after), (after, before)]:
            assert StateSeal(opening).open(StateSeal(sealing).seal(1, BOUND), BOUND) == 1
    check_refused(StateSeal([new]), StateSeal([old, new]).seal(1, BOUND))


def test_a_short_key_is_refused_and_so_is_one_that_is_no_list() -> None:
    for keys in [[b"short"], [KEY, b"short"]]:
        with pytest.raises(ValueError, match="16 bytes"):
            StateSeal(keys)
    for key in [KEY, "k" * 32]:
        with pytest.raises(TypeError, match="a list of keys"):
            StateSeal(cast(Any, key))


def test_a_state_is_bound_to_what_all_rounds_have_in_common() -> None:
    def bound(params: dict[str, Any]) -> bytes:
        return binding("tools/call", params, None, "s")

    once = {"name": "a", "arguments": {"x": 1, "y": 2}}
    again = {"arguments": {"y": 2, "x": 1}, "name": "a"}
    extra = {"_meta": {"a": 1}, "requestState": "s", "inputResponses": {}}
    assert bound(once) == bound({**extra, **again})
    assert bound(once) != bound({**once, "name": "b"})
