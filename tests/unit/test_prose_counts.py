"""The counts of names and phrases that stop a reader find these, and leave plain ones alone."""

from support.bounds.prose import module_places, page_places
from support.tables import case

PARTICIPLE, PRONOUN = "functions-by-participle", "functions-by-pronoun"
PEOPLE, NEGATED, CLAUSE = "people-as-pronouns", "negated-nouns", "returns-of-clauses"
PLACES = {
    "def _made(): ...": [(PARTICIPLE, 1)],
    "def kept_files(): ...": [(PARTICIPLE, 1)],
    "async def _painted(): ...": [(PARTICIPLE, 1)],
    "def build_module(): ...": [],
    "def shared_state(): ...": [],
    "def need(): ...": [],
    "@property\ndef closed(self): ...": [],
    "def test_what_is_sent_arrives(): ...": [(PRONOUN, 1)],
    "def _one_line(): ...": [(PRONOUN, 1)],
    "def test_server_sends_what_it_got(): ...": [],
    "@cached_property\ndef its(self): ...": [],
    "for one in modules: ...": [("loops-without-element", 1)],
    "for key, other in pairs: ...": [("loops-without-element", 1)],
    "[module for module in modules]": [],
    '"""Whoever asks gets it."""\n\nraise E("is no key")\n# Return what was read': [
        (PEOPLE, 1),
        (NEGATED, 3),
        (CLAUSE, 4),
    ],
    '"""A client asks, no longer."""\nprint("is no key")\n# Return the files': [],
}


def test_places_of_a_module_are_counted() -> None:
    for code, found in PLACES.items():
        with case(code):
            assert [*module_places(code)] == found


def test_code_of_a_page_is_not_read() -> None:
    page = "is no key\n```\nis no key\n```\n    is no key\nNobody"
    assert [*page_places(page)] == [(NEGATED, 1), (PEOPLE, 6)]
