"""The table of surviving features between revisions is what clients and servers show."""

import asyncio
from collections.abc import Mapping

import pytest
from support.peers import matrix
from support.peers.matrix import KINDS, PAGE, Kind, Run

RUN = "run: PYTHONPATH=tests python -m support.peers.matrix"


@pytest.fixture(scope="module")
def matrix_runs() -> Mapping[Kind, list[Run]]:
    return asyncio.run(matrix.all_runs())


def test_the_page_shows_what_was_found(matrix_runs: Mapping[Kind, list[Run]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
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
