"""The counts of names and phrases that stop a reader find these, and leave plain ones alone."""

import ast
import re

from support.bounds.prose import (
    PHRASES,
    has_participle_name,
    has_pronoun_name,
    module_texts,
    page_texts,
    unnamed_elements,
)
from support.tables import case


def parse_function(code: str) -> ast.FunctionDef:
    node = ast.parse(code).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def test_function_named_by_a_participle_is_counted() -> None:
    for code, counted in (
        ("def _made(): ...", True),
        ("def kept_files(): ...", True),
        ("def _painted(): ...", True),
        ("def build_module(): ...", False),
        ("def shared_state(): ...", False),
        ("def need(): ...", False),
        ("@property\ndef closed(self): ...", False),
    ):
        with case(code):
            assert has_participle_name(parse_function(code)) is counted


def test_function_named_by_a_pronoun_is_counted() -> None:
    for code, counted in (
        ("def test_what_is_sent_arrives(): ...", True),
        ("def _one_line(): ...", True),
        ("def test_server_sends_what_it_got(): ...", False),
        ("@cached_property\ndef its(self): ...", False),
    ):
        with case(code):
            assert has_pronoun_name(parse_function(code)) is counted


def test_loop_without_a_name_for_its_element_is_counted() -> None:
    for code, names in (
        ("for one in modules: ...", ["one"]),
        ("for key, other in pairs: ...", ["other"]),
        ("for module in modules: ...", []),
    ):
        with case(code):
            (loop,) = ast.parse(code).body
            assert isinstance(loop, ast.For)
            assert [name.id for name in unnamed_elements(loop)] == names


def test_turned_phrase_is_counted() -> None:
    for name, turned, plain in (
        ("people-as-pronouns", "Whoever asks gets it.", "A client that asks gets it."),
        ("negated-nouns", "It is no object.", "It is no longer an object."),
        ("returns-of-clauses", "Return what was read.", "Return the files."),
    ):
        with case(name):
            assert re.search(PHRASES[name], turned)
            assert not re.search(PHRASES[name], plain)


def test_docstrings_comments_and_errors_of_a_module_are_read() -> None:
    source = '"""Docstring."""\n\nraise KeyError("error")  # comment\nprint("text")\n'
    texts = module_texts(source, ast.walk(ast.parse(source)))
    assert sorted(texts) == [(1, "Docstring."), (3, "comment"), (3, "error")]


def test_code_of_a_page_is_not_read() -> None:
    assert [*page_texts("a\n```\ncode\n```\n    code\nb")] == [(1, "a"), (6, "b")]
