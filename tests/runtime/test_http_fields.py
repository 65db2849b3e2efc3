"""Values in header fields: written so that they survive, and read strictly."""

from base64 import b64encode

from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.http.headers import decode_value, encode_value, media_type
from support.tables import case

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
MARKED = st.builds("=?base64?{}?=".format, st.text("AQgwz/+=?- é", max_size=12))


def test_a_value_is_plain_where_it_is_safe_and_encoded_elsewhere() -> None:
    for value, field in [
        ("us-west1", "us-west1"),
        ("", ""),
        ("a b  c", "a b  c"),
        ("file:///a%20b?c=d", "file:///a%20b?c=d"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        (" ", "=?base64?IA==?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("a\tb", "=?base64?YQli?="),
        ("a\x7fb", "=?base64?YX9i?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?BASE64?x?=", "=?BASE64?x?="),
    ]:
        with case((value, field)):
            assert encode_value(value) == field
            assert decode_value(field) == value


@given(TEXT | MARKED)
def test_any_text_survives(text: str) -> None:
    field = encode_value(text)
    assert decode_value(field) == text
    assert field.isascii()
    assert field == field.strip()
    assert "\n" not in field
    assert "\r" not in field


@given(MARKED)
def test_a_text_has_one_encoding_only(field: str) -> None:
    text = decode_value(field)
    assert text is None or field == f"=?base64?{b64encode(text.encode()).decode()}?="


def test_a_malformed_value_stands_for_nothing() -> None:
    for field in [
        "=?base64?SGVsbG8?=",  # no padding
        "=?base64?SGVsbG8==?=",  # too much of it
        "=?base64?SGVsbG9=?=",  # bits that readers ignore
        "=?base64?SGVs bG8=?=",
        "=?base64?_-__?=",  # the alphabet of URLs
        "=?base64?SGVsé?=",
        "=?base64?/w==?=",  # no UTF-8
        "=?base64?=",
        "é",
        "a\x00b",
        "a\nb",
        "\x7f",
    ]:
        assert decode_value(field) is None


def test_without_both_marks_a_value_means_itself() -> None:
    for field in ["=?base64?SGk=", "SGk=?=", "=?utf-8?b?SGk=?=", "a\tb", " a "]:
        assert decode_value(field) == field


def test_a_media_type_is_compared_without_its_parameters() -> None:
    for written in ["application/json", "Application/JSON; charset=utf-8", " application/json ;x"]:
        with case(written):
            assert media_type(written) == "application/json"
            assert media_type(None) == ""
