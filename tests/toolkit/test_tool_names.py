"""Which names tools may have."""

from typing import Any

import pytest
from support.tables import case
from support.toolkit.kits import kit, listed_tools, tool


def with_name(name: str) -> Any:
    def function(self: object) -> str:
        return name

    return kit(function=tool(name=name)(function))()


@pytest.mark.shows("S2-24")
def test_names_that_are_valid() -> None:
    for name in ["getUser", "DATA_EXPORT_v2", "admin.tools.list", "a-b", "0"]:
        assert list(listed_tools(with_name(name))) == [name]


@pytest.mark.shows("S2-19")
def test_a_name_has_1_to_128_characters() -> None:
    assert list(listed_tools(with_name("x" * 128))) == ["x" * 128]
    for name in ("", "x" * 129):
        with pytest.raises(ValueError, match=rf"function: .* 1 to 128 characters, got {len(name)}"):
            with_name(name)


@pytest.mark.shows("S2-21", "S2-22")
def test_a_name_has_letters_digits_and_three_marks_in_it() -> None:
    for letter in [" ", ",", "/", ":", "@", "é", "٣", "\n", "\0"]:
        with case(letter):
            with pytest.raises(ValueError, match="use only ASCII letters and digits") as raised:
                with_name(f"a{letter}b")
            assert repr(letter) in str(raised.value)


@pytest.mark.shows("S2-20")
def test_upper_and_lower_case_differ() -> None:
    @tool(name="Get")
    def upper(self: object) -> str:
        return "upper"

    @tool(name="get")
    def lower(self: object) -> str:
        return "lower"

    assert list(listed_tools(kit(upper=upper, lower=lower)())) == ["Get", "get"]


@pytest.mark.shows("S2-23")
def test_two_tools_of_a_name_are_refused() -> None:
    @tool(name="get")
    def get_other(self: object) -> str:
        return ""

    @tool(name="get")
    def two(self: object) -> str:
        return ""

    with pytest.raises(ValueError, match="there is already a tool get"):
        kit(one=get_other, two=two)()
