"""The table of surviving features between revisions is what real processes show."""

import asyncio
from collections.abc import Mapping

import pytest
from support import tables
from support.peers import matrix
from support.peers.matrix import KINDS, PAGE, PAIRS, REVISIONS, Kind, Run

RUN = "run: PYTHONPATH=tests python -m support.peers.matrix"

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("matrix")]


@pytest.fixture(scope="module")
def found() -> Mapping[Kind, list[Run]]:
    pairs = [
        (server, client)
        for server in tables.some(REVISIONS, 3, "servers")
        for client in tables.some(REVISIONS, 1, f"clients of {server}")
    ]
    return asyncio.run(matrix.all_runs(pairs))


def test_the_page_shows_what_was_found(found: Mapping[Kind, list[Run]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    seen, shown = matrix.cells(found), matrix.cells_of(page)
    assert seen == {place: shown.get(place) for place in seen}, RUN
    assert matrix.losses(found) <= set(page.splitlines()), RUN
    if len(found["server"]) == len(PAIRS):
        assert matrix.page_with(matrix.tables(found)) == page, RUN


def test_nothing_is_lost_within_one_revision_or_on_the_way_up(
    found: Mapping[Kind, list[Run]],
) -> None:
    for kind in KINDS:
        for (server, client, feature), verdict in matrix.verdicts(found[kind]).items():
            if client >= server:
                assert verdict in ("works", "absent"), (kind, server, client, feature)


def test_what_arrives_in_another_form_was_reported_as_lost(
    found: Mapping[Kind, list[Run]],
) -> None:
    for kind in KINDS:
        verdicts = matrix.verdicts(found[kind])
        for one in found[kind]:
            changed = {
                feature
                for (server, client, feature), verdict in verdicts.items()
                if (server, client) == (one.server, one.client) and verdict == "degraded"
            }
            assert bool(changed) <= bool(one.lost), (kind, one)
