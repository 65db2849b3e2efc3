"""What clients of each revision have of servers of each revision behind a gateway.

The gateway, and servers behind it, are processes. The measure is a client of the server's revision
without a gateway. What is lost in a translation is in the table of docs/translation.md, which
`tests/peers/test_matrix.py` checks for bridges.
"""

import asyncio

import pytest
from support import tables
from support.gateway.matrix import FORMS, Form, run_pairs
from support.peers.features import FEATURES
from support.peers.matrix import MARKS, PAGE, PAIRS, cells_of, in_words, verdict_on
from support.revisions import HANDSHAKE

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("gateway")]


@pytest.mark.parametrize("form", FORMS)
def test_features_behind_a_gateway_are_those_of_a_bridge(form: Form) -> None:
    shown = cells_of(PAGE.read_text(encoding="utf-8"))
    served = [pair for pair in PAIRS if form != "sse" or pair[0] in HANDSHAKE]
    pairs = tables.some(served, 2, f"pairs over {form}")
    for found, native in asyncio.run(run_pairs(pairs, form)):
        for feature in FEATURES:
            with tables.case((found.server, found.client, feature)):
                seen = found.seen[feature]
                verdict = verdict_on(seen, native.seen[feature])
                expected = shown[found.server, in_words(feature), found.client]
                assert MARKS[verdict] == expected, repr(seen)
