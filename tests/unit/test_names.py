"""Names: values of these types are always identifiers."""

import builtins
import keyword

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_protogen.base import names
from support import tables


def test_snake_case() -> None:
    for text, expected in (
        ("listChanged", "list_changed"),
        ("URLElicitation", "url_elicitation"),
        ("JSONRPCError", "jsonrpc_error"),
        ("sampling/createMessage", "sampling_create_message"),
        ("ttlMs", "ttl_ms"),
        ("tools", "tools"),
        ("sha256Sum", "sha256_sum"),
        ("_meta", "meta"),
        ("", ""),
    ):
        with tables.case(text):
            assert names.snake(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("inputSchema", "InputSchema"), ("_meta", "Meta"), ("list_changed", "ListChanged")],
)
def test_pascal_case(text: str, expected: str) -> None:
    assert names.pascal(text) == expected


def test_type_names_stay_as_they_are() -> None:
    for text in ("Tool", "JSONRPCError", "A1", "A_", "A_B"):
        with tables.case(text):
            assert names.class_name(text) == text


def test_types_are_not_called_like_what_python_or_annotations_use() -> None:
    for text in sorted({*keyword.kwlist, *dir(builtins), *names.RESERVED_TYPES, "a", "_A"}):
        with pytest.raises(names.UnsafeName):
            names.class_name(text)


def test_types_that_python_cannot_name_get_a_fixed_name() -> None:
    for text, expected in (
        ("Tool", "Tool"),
        ("A_B", "A_B"),
        ("Annotated", "AnnotatedObject"),
        ("None", "NoneObject"),
        ("class", "Class"),
        ("list", "List"),
        ("_x", "X"),
        ("3d", "Type3d"),
        ("Box<Item>", "BoxItem"),
        ("a-b.c/d", "ABCD"),
    ):
        with tables.case(text):
            assert names.type_name(text) == names.class_name(expected)


def test_unsafe_names_are_unchanged_and_refused() -> None:
    for text in ("", " ", "Ä", "A\u0301", "A\n", "A;import os", "__import__", "A(object)", 'A"'):
        assert names.type_name(text) == text
        with pytest.raises(names.UnsafeName):
            names.class_name(text)


def test_no_member_hides_an_attribute_of_models_or_of_their_class() -> None:
    from mcp_protogen.runtime.core.models import WireModel

    attributes = {name for cls in (WireModel, type(WireModel)) for name in dir(cls)}
    for name in attributes:
        if not name.startswith("_") and name.islower():
            assert names.field_name(name) == f"{name}_"


def test_member_names_lose_marks_and_vendor() -> None:
    for wire, expected in (
        ("_meta", "meta"),
        ("$schema", "schema_"),
        ("progressToken", "progress_token"),
        ("io.modelcontextprotocol/clientInfo", "client_info"),
        ("com.example/x-y", "x_y"),
        ("a.b", "a_b"),
        ("a b", "a_b"),
        ("@type", "type"),
        ("200", "n200"),
        ("2", "n2"),
        ("2x", "n2x"),
        ("2fa_code", "n2fa_code"),
        ("x2", "x2"),
        ("type", "type"),
        ("id", "id"),
    ):
        with tables.case(wire):
            assert names.field_name(wire) == expected


def test_members_called_like_keywords_and_builtins_get_a_suffix() -> None:
    rows: list[str] = [
        *filter(str.islower, keyword.kwlist),
        "list",
        "str",
        "model_config",
        "json",
        "copy",
    ]
    for wire in rows:
        with tables.case(wire):
            assert names.field_name(wire) == f"{wire}_"


def test_member_names_that_are_no_identifier_are_refused() -> None:
    for wire in ("", "_", "é", "x\n", "a/", "a;b", "日本"):
        with tables.case(wire), pytest.raises(names.UnsafeName):
            names.field_name(wire)


def test_stub_names_come_from_message_types() -> None:
    for message, expected in (
        ("CallToolRequest", "call_tool"),
        ("CancelledNotification", "cancelled"),
        ("ImportRequest", "import"),
        ("RequestRequest", "request"),
    ):
        with tables.case(message):
            assert names.stem(message) == expected


def test_a_message_without_a_name_of_its_own_has_no_stub() -> None:
    with pytest.raises(names.UnsafeName):
        names.stem("Request")


def test_only_whole_names_that_mean_something_else_get_a_suffix() -> None:
    for message in ("Import", "Notify", "Progress", "RequestId"):
        stem = names.stem(f"{message}Request")
        assert names.stub("", stem) == f"{stem}_"
        assert names.stub("on_", stem) == f"on_{stem}"
        assert names.stub("notify_", stem) == f"notify_{stem}"


def test_constants() -> None:
    assert names.constant("server", "tools", "listChanged") == "SERVER_TOOLS_LIST_CHANGED"
    with pytest.raises(names.UnsafeName):
        names.constant("", "é")


def test_duplicates_are_named_once_and_sorted() -> None:
    assert names.duplicates(["b", "a", "b", "a", "b", "c"]) == ["a", "b"]


def _stub(text: str) -> names.StubName:
    return names.stub("", names.stem(text))


def _type(text: str) -> names.ClassName:
    return names.class_name(names.type_name(text))


@settings(max_examples=300)
@given(st.text(max_size=12) | st.from_regex(r"[A-Za-z_$/. -]{1,12}"))
def test_whatever_goes_in_only_identifiers_come_out(text: str) -> None:
    makers = (names.class_name, names.field_name, _stub, names.constant, names.module_name)
    for make in (*makers, _type):
        try:
            name = make(text)
        except names.UnsafeName:
            continue
        assert name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
