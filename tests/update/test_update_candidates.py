"""Candidates, compared with the pins."""

from pathlib import Path

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.instep.update.candidates import (
    CandidateState,
    RevisionFilter,
    look,
)
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.sources.opening import open_source
from support.update.specifications import (
    NEWEST,
    OLDER,
    Spec,
    pages_of,
    reword,
    serving,
    with_an_owner,
    with_things,
)

NEXT = "2031-01-01"


def refusal(spec: Spec, *names: str) -> tuple[str, str]:
    with pytest.raises(ProblemError) as caught:
        spec.look(*names)
    (problem,) = caught.value.problems
    return problem.code, f"{problem.message}; {problem.hint}"


def test_where_nothing_has_moved_nothing_is_news(spec: Spec) -> None:
    everything = spec.look()
    assert [candidate.revision for candidate in everything.candidates] == list(
        load_pins(spec.schema)
    )
    assert {candidate.state for candidate in everything.candidates} == {CandidateState.SAME}
    assert everything.notices == ()


def test_other_bytes_are_a_move(spec: Spec) -> None:
    spec.edit(OLDER, reword)
    candidate = spec.candidate(OLDER)
    assert (candidate.state, candidate.sha256) == (CandidateState.MOVED, spec.digest(OLDER))
    assert (candidate.known, candidate.twin) == (None, "")


def test_an_earlier_publication_is_recognised_by_its_digest(spec: Spec) -> None:
    earlier = spec.path(OLDER).read_bytes()
    later = spec.edit(OLDER, reword)
    add(OLDER, later, Origin(date="2031-05-06"), OLDER, spec.schema)
    spec.write(OLDER, earlier)
    candidate = spec.candidate(OLDER)
    assert candidate.state is CandidateState.BEHIND
    assert candidate.state.is_news
    assert candidate.known is not None
    assert candidate.known.date == "2030-01-02"


def test_a_revision_without_a_pin_is_new(spec: Spec) -> None:
    spec.edit(NEWEST, with_things, to=NEXT)
    spec.edit(NEWEST, with_an_owner, to="draft")
    news = [candidate for candidate in spec.look().candidates if candidate.state.is_news]
    assert [(candidate.revision, candidate.state) for candidate in news] == [
        (NEXT, CandidateState.NEW),
        ("draft", CandidateState.NEW),
    ]


def test_a_draft_that_is_a_copy_of_a_release_is_no_news(spec: Spec) -> None:
    spec.write("draft", spec.path(NEWEST).read_bytes())
    candidate = spec.candidate("draft")
    assert (candidate.state, candidate.twin) == (CandidateState.COPY, NEWEST)
    assert not candidate.state.is_news


def test_a_release_of_a_draft_that_is_pinned_is_news(spec: Spec) -> None:
    add("draft", spec.edit(NEWEST, with_things, to="draft"), Origin(), "draft", spec.schema)
    spec.write(NEXT, spec.path("draft").read_bytes())
    candidate = spec.candidate(NEXT)
    assert (candidate.state, candidate.twin) == (CandidateState.NEW, "draft")


def test_a_pin_knows_where_its_file_is(spec: Spec) -> None:
    content = spec.edit(NEWEST, with_things, to="draft")
    origin = Origin(spec_path="schema/draft/schema.json")
    add("next", content, origin, "next", spec.schema)
    names = [candidate.revision for candidate in spec.look().candidates]
    assert names == [*load_pins(spec.schema)]
    assert spec.candidate("next").state is CandidateState.SAME
    assert refusal(spec, "draft") == (
        "unknown-revision",
        "schema/draft/schema.json is the file that next is pinned to; name next",
    )


def test_ignored_revisions_are_not_opened(spec: Spec) -> None:
    spec.write("draft", b"no schema at all")
    names = [candidate.revision for candidate in spec.look(ignored=("draft", OLDER)).candidates]
    assert names == [name for name in load_pins(spec.schema) if name != OLDER]


def test_a_pinned_file_that_is_gone_is_a_warning_or_an_error_when_named(spec: Spec) -> None:
    spec.path(OLDER).unlink()
    (notice,) = spec.look().notices
    assert str(notice).startswith("warning[not-published]")
    assert OLDER in notice.message
    assert refusal(spec, OLDER)[0] == "not-published"


def test_a_name_that_is_nowhere_is_refused_with_a_suggestion(spec: Spec) -> None:
    code, text = refusal(spec, "2025-11-26")
    assert code == "unknown-revision"
    assert f"did you mean {OLDER}" in text


def test_a_name_that_leads_elsewhere_is_not_looked_for(spec: Spec) -> None:
    (spec.folder / "schema.json").write_bytes(spec.path(OLDER).read_bytes())
    assert refusal(spec, "..")[0] == "unsafe-name"


def test_a_place_without_any_published_schema_is_no_source(spec: Spec, tmp_path: Path) -> None:
    (tmp_path / "other" / "schema").mkdir(parents=True)
    assert refusal(Spec(tmp_path / "other", spec.schema))[0] == "not-a-source"


def test_where_there_is_no_list_the_draft_and_what_is_named_are_looked_for(spec: Spec) -> None:
    spec.edit(NEWEST, with_things, to="draft")
    spec.edit(NEWEST, with_an_owner, to=NEXT)
    pins = load_pins(spec.schema)
    with serving(pages_of(spec)) as site:
        source = open_source(site.url, None, None)
        everything = look(source, pins, RevisionFilter())
        named = look(source, pins, RevisionFilter((NEXT,)))
    assert [candidate.revision for candidate in everything.candidates] == [*pins, "draft"]
    (notice,) = everything.notices
    assert notice.code == "not-looked-for"
    assert notice.message.startswith("cannot search for new revisions: ")
    assert [candidate.revision for candidate in named.candidates] == [NEXT]
    assert named.notices == ()
