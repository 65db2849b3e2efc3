"""Which names tools may have."""

from typing import Any

import pytest
from support.tables import case
from support.toolkit.kits import kit, listed_tools, tool


def names_listed(*names: str) -> list[str]:
    """Return the names that a server lists whose tools have these names."""

    def make(name: str) -> Any:
        def function(self: object) -> str:
            return name

        return tool(name=name)(function)

    return [*listed_tools(kit(**{f"_{at}": make(name) for at, name in enumerate(names)})())]


@pytest.mark.shows("S2-24")
def test_names_that_are_valid() -> None:
    for name in ["getUser", "DATA_EXPORT_v2", "admin.tools.list", "a-b", "0"]:
        assert names_listed(name) == [name]


@pytest.mark.shows("S2-19")
def test_a_name_has_1_to_128_characters() -> None:
    assert names_listed("x" * 128) == ["x" * 128]
    for name in ("", "x" * 129):
        with pytest.raises(ValueError, match=rf"function: .* 1 to 128 characters, got {len(name)}"):
            names_listed(name)


@pytest.mark.shows("S2-21", "S2-22")
def test_a_name_has_letters_digits_and_three_marks_in_it() -> None:
    for letter in [" ", ",", "/", ":", "@", "é", "٣", "\n", "\0"]:
        with case(letter):
            with pytest.raises(ValueError, match="use only ASCII letters and digits") as raised:
                names_listed(f"a{letter}b")
            assert repr(letter) in str(raised.value)


@pytest.mark.shows("S2-20", "S2-23")
def test_names_that_differ_in_case_alone_are_two_and_equal_ones_are_refused() -> None:
    assert names_listed("Get", "get") == ["Get", "get"]
    with pytest.raises(ValueError, match="there is already a tool get"):
        names_listed("get", "get")
