"""What gets through between each two revisions, over real processes, is what the page says."""

import asyncio
from collections.abc import Mapping

import matrix
import pytest
from matrix import KINDS, PAGE, REVISIONS, Kind, Run


@pytest.fixture(scope="module")
def found() -> Mapping[Kind, list[Run]]:
    return asyncio.run(matrix.all_runs())


@pytest.mark.xdist_group("matrix")
def test_the_page_shows_what_was_found(found: Mapping[Kind, list[Run]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert matrix.page_with(matrix.tables(found)) == page, "run tests/peers/matrix.py"


@pytest.mark.xdist_group("matrix")
def test_nothing_is_lost_within_one_revision_or_on_the_way_up(
    found: Mapping[Kind, list[Run]],
) -> None:
    for kind in KINDS:
        verdicts = matrix.verdicts(found[kind])
        for server in REVISIONS:
            for client in REVISIONS:
                if client >= server:
                    marks = {v for (s, c, _), v in verdicts.items() if (s, c) == (server, client)}
                    assert marks <= {"works", "absent"}, (kind, server, client)


@pytest.mark.xdist_group("matrix")
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
