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
def matrix_runs() -> Mapping[Kind, list[Run]]:
    pairs = [
        (server, client)
        for server in tables.some(REVISIONS, 2, "servers")
        for client in tables.some(REVISIONS, 1, f"clients of {server}")
    ]
    return asyncio.run(matrix.all_runs(pairs))


def test_the_page_shows_what_was_found(matrix_runs: Mapping[Kind, list[Run]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    seen, shown = matrix.cells(matrix_runs), matrix.cells_of(page)
    assert seen == {place: shown.get(place) for place in seen}, RUN
    assert matrix.losses(matrix_runs) <= set(page.splitlines()), RUN
    if len(matrix_runs["server"]) == len(PAIRS):
        assert matrix.page_with(matrix.tables(matrix_runs)) == page, RUN


def test_features_survive_within_revision_and_upwards(
    matrix_runs: Mapping[Kind, list[Run]],
) -> None:
    for kind in KINDS:
        for (server, client, feature), verdict in matrix.verdicts(matrix_runs[kind]).items():
            if client >= server:
                assert verdict in ("works", "absent"), (kind, server, client, feature)


def test_changed_features_were_reported_as_lost(
    matrix_runs: Mapping[Kind, list[Run]],
) -> None:
    for kind in KINDS:
        verdicts = matrix.verdicts(matrix_runs[kind])
        for run in matrix_runs[kind]:
            changed = {
                feature
                for (server, client, feature), verdict in verdicts.items()
                if (server, client) == (run.server, run.client) and verdict == "degraded"
            }
            assert bool(changed) <= bool(run.lost), (kind, run)
