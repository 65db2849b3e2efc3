"""URI templates: their expansions, their matches, and their safety."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_types import JsonObject
from support.tables import case
from support.toolkit.kits import UriTemplate

parse = UriTemplate.parse


def test_a_template_recognises_what_it_stands_for() -> None:
    for template, uri, values in [
        ("a:b", "a:b", {}),
        ("weather://{place}/today", "weather://Oslo/today", {"place": "Oslo"}),
        ("weather://{place}/today", "weather://S%C3%A3o%20Paulo/today", {"place": "São Paulo"}),
        ("weather://{place}/today", "weather://São/today", {"place": "São"}),
        ("a:{x}", "a:%41%2e", {"x": "A."}),
        ("a:{x}", "a:%252e%252e", {"x": "%2e%2e"}),
        ("a:{x}", "a:b;c=d:e@f", {"x": "b;c=d:e@f"}),
        ("a:{x}", "a:...", {"x": "..."}),
        ("a:{x}", "a:100%25", {"x": "100%"}),
        ("a:{x}/{y}", "a:1/2", {"x": "1", "y": "2"}),
        ("a:{x}-{y}", "a:1-2-3", {"x": "1", "y": "2-3"}),
        ("a:{x}-x", "a:b-x-x", {"x": "b-x"}),
        ("file://{+path}", "file:///etc/hosts", {"path": "/etc/hosts"}),
        ("a:{+path}/raw", "a:b/c/raw/raw", {"path": "b/c/raw"}),
        ("a:{+path}", "a:b%2Fc?d=e", {"path": "b/c?d=e"}),
        ("a:b{#part}", "a:b#c/d", {"part": "c/d"}),
        ("a:{x}{#part}", "a:b#c", {"x": "b", "part": "c"}),
    ]:
        assert parse(template).match(uri) == values


def test_and_nothing_else() -> None:
    for template, uri in [
        ("a:b", "a:bc"),
        ("a:b", "A:b"),
        ("a:{x}", "a:"),
        ("a:{x}/c", "a:/c"),
        ("a:{x}/c", "a:b/d"),
        ("a:{x}/c", "a:b/c/c"),
        ("a:{x}{#y}", "a:b"),
        ("a:{#y}", "a:#"),
    ]:
        assert parse(template).match(uri) is None


def test_a_segment_leads_nowhere_else() -> None:
    for value in [
        *("..", ".", "%2e%2e", "%2E.", "..%2f..%2fetc%2fpasswd", "a%2Fb", "a%2fb", "a/b", "a%5Cb"),
        *("%2e%2e%5c", "a?b", "a#b", "a%00b", "a%0Ab", "a\nb", "a b", "%", "%zz", "%4"),
        # No UTF-8: a slash in too many bytes, half a character, a surrogate.
        *("%C0%AF", "%C3", "%ED%A0%80", "a\\b", "\ud800"),
    ]:
        assert parse("file:///notes/{name}").match(f"file:///notes/{value}") is None


def test_text_with_slashes_has_no_dots_for_segments() -> None:
    for value in [
        "../a",
        "a/../b",
        "a/%2e%2e/b",
        "a%2F..%2Fb",
        "a/..",
        "./a",
        "a/.",
        "a%5C..%5Cb",
        "a%00",
        "%FF",
    ]:
        assert parse("file:///notes/{+path}").match(f"file:///notes/{value}") is None


def test_unsupported_template_is_refused_by_name() -> None:
    for template, reason in [
        ("a:{x,y}", "several variables, of level 3"),
        ("a:{?q}", "a query, of level 3"),
        ("a:{&q}", "a continued query, of level 3"),
        ("a:{/x}", "path segments, of level 3"),
        ("a:{.x}", "labels, of level 3"),
        ("a:{;x}", "path parameters, of level 3"),
        ("a:{x*}", "a modifier, of level 4"),
        ("a:{x:3}", "a modifier, of level 4"),
        ("a:{+x:3}", "a modifier, of level 4"),
        ("a:{!x}", "an operator that is reserved"),
        ("a:{}", "is not the name of a parameter"),
        ("a:{x-y}", "is not the name of a parameter"),
        ("a:{x", "'{'"),
        ("a:x}", "'}'"),
        ("a:b c", "' '"),
        ("a:%zz", "'%'"),
        ("a:é", "non-ASCII text"),
        ("{x}", "does not begin with a scheme"),
        ("notes/{x}", "does not begin with a scheme"),
        ("{+scheme}:x", "does not begin with a scheme"),
        ("a:{x}/{x}", "contains x twice"),
        ("a:{x}{y}", "needs text between its variables"),
    ]:
        with case((template, reason)):
            with pytest.raises(ValueError, match="URI") as raised:
                parse(template)
            assert reason in str(raised.value)


def test_a_template_is_filled_in() -> None:
    rows: list[tuple[str, JsonObject, str]] = [
        # RFC 6570, sections 1.2 and 3.2.
        ("a:{var}", {"var": "value"}, "a:value"),
        ("a:{hello}", {"hello": "Hello World!"}, "a:Hello%20World%21"),
        ("a:{+hello}", {"hello": "Hello World!"}, "a:Hello%20World!"),
        ("a:{+path}/here", {"path": "/foo/bar"}, "a:/foo/bar/here"),
        ("a:here?ref={+path}", {"path": "/foo/bar"}, "a:here?ref=/foo/bar"),
        ("a:X{#var}", {"var": "value"}, "a:X#value"),
        ("a:X{#hello}", {"hello": "Hello World!"}, "a:X#Hello%20World!"),
        ("a:{half}", {"half": "50%"}, "a:50%25"),
        ("a:{+half}", {"half": "50%"}, "a:50%25"),
        ("a:{+base}index", {"base": "http://example.com/home/"}, "a:http://example.com/home/index"),
        ("a:{x}", {"x": "%41"}, "a:%2541"),
        ("a:{+x}", {"x": "%41"}, "a:%41"),
        ("a:{x}", {"x": "a/ü"}, "a:a%2F%C3%BC"),
        ("a:{n}", {"n": 3}, "a:3"),
    ]
    for template, values, uri in rows:
        assert parse(template).expand(values) == uri


def test_every_variable_needs_a_value() -> None:
    for values in [{}, {"x": ""}]:
        with case(values), pytest.raises(ValueError, match=r"a:\{x\} needs a value for x"):
            parse("a:{x}").expand(values)


SEGMENTS = st.text(min_size=1).filter(
    lambda text: (
        text not in (".", "..")
        and not any(ord(letter) < 32 or letter in "/\\\x7f" for letter in text)
        and not any(0xD800 <= ord(letter) < 0xE000 for letter in text)
    )
)


@given(SEGMENTS, SEGMENTS)
def test_expanded_template_matches_itself(first: str, second: str) -> None:
    template = parse("a://{x}/b/{y}")
    values = {"x": first, "y": second}
    assert template.match(template.expand(values)) == values


@given(st.text(st.characters(exclude_categories=())))
def test_no_text_is_too_odd_to_be_looked_at(text: str) -> None:
    values = parse("a:{x}/{+y}").match(f"a:{text}")
    assert values is None or ("/" not in values["x"] and ".." not in values["y"].split("/"))


def test_long_uris_take_no_more_than_their_share() -> None:
    # A matcher that goes back would be busy for years.
    template = parse("a:{a}-{b}-{c}-{d}-{e}/{+f}!{g}!")

    assert template.match("a:" + "-" * 200_000) is None
    assert template.match("a:" + "x-" * 100_000 + "/" + "!" * 200_000) is not None
