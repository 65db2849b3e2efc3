"""Text as Python: it reads back as itself and ends where it should."""

import ast
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_protogen.pipeline.emit import text

ODD = [
    '"',
    "'",
    "\\",
    "\\'",
    '\\"',
    "'\"",
    "\n",
    "\r",
    "\x00",
    "\u2028",
    "é",
    "😀",
    "\ud800",
    "{x}",
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.sampled_from("\"'\\\n\r\t aé\u2028{}"), max_size=6),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def read_docstring(value: str, indent: int = 0) -> str:
    """The value of a docstring as Python reads it."""
    margin = " " * indent
    source = (
        f"if True:\n{margin}x = {text.docstring(value, indent)}\n"
        if indent
        else f"x = {text.docstring(value, 0)}\n"
    )
    (statement,) = ast.parse(source).body
    node = statement.body[0] if isinstance(statement, ast.If) else statement
    assert isinstance(node, ast.Assign)
    read = ast.literal_eval(node.value)
    assert isinstance(read, str)
    return read


def test_a_literal_evaluates_to_its_value() -> None:
    for value in [*ODD, *(a + b for a in ODD for b in ODD)]:
        assert ast.literal_eval(text.literal(value)) == value


@settings(max_examples=200)
@given(JSON)
def test_any_json_value_is_a_literal(value: Any) -> None:
    source = text.literal(value)
    assert ast.literal_eval(source) == value
    assert "\n" not in source


def test_sets_keep_their_order_and_an_empty_one_is_no_dict() -> None:
    assert text.set_of(["b", "a"]) == '{"b", "a"}'
    assert text.set_of([]) == "()"


def test_a_short_docstring_is_one_line() -> None:
    assert text.docstring("What it is.", 4) == '"""What it is."""'


def test_paragraphs_survive() -> None:
    assert read_docstring("One.\n\nTwo.", 4) == "One.\n\n    Two.\n    "


def test_invisible_characters_are_dropped() -> None:
    assert read_docstring("a\x00b\x1b\u202ec\u200bd\ufeff\ud800e") == "abcde"


@settings(max_examples=300)
@given(
    st.text(st.sampled_from("\"\\\n\t 'a-é\r\x00\u2028"), max_size=200), st.sampled_from([0, 4, 8])
)
def test_no_text_leaves_its_docstring(value: str, indent: int) -> None:
    kept = "".join(value.replace("\r", "").replace("\x00", "").replace("\u2028", "").split())
    assert "".join(read_docstring(value, indent).split()) == kept
