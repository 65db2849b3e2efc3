"""The decisions of a client. Tests carry the ids of the decision tables' rows."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.core.connection_errors import (
    Disconnected,
    HttpError,
    NegotiationError,
    RequestTimeout,
)
from mcp_protogen.runtime.core.errors import InvalidAnswer, McpError, RemoteError
from mcp_protogen.runtime.messages.jsonrpc import Call, message_of
from mcp_protogen.runtime.rules.client_negotiation import (
    Adopt,
    Answered,
    Ask,
    NegotiatedRevision,
    Negotiation,
    Outcome,
    Restart,
    Step,
)
from mcp_protogen.runtime.rules.server_negotiation import (
    DISCOVER,
    INITIALIZE,
    Offer,
    Route,
    answer_initialize,
    route,
)
from support.json_types import Json, JsonObject
from support.runtime.offers import CAPABILITIES, DUAL, LEGACY, MODERN, NEW, OLD, VERSION, offer
from support.tables import case

NEXT = "2027-01-01"
DISCOVERED = {"supportedVersions": [NEW]}
SILENCE = RequestTimeout("server/discover", 5)


def agreement(version: str) -> Answered:
    return Answered({"protocolVersion": version, "capabilities": {}})


def refuse_version(*supported: str) -> McpError:
    return McpError(-32022, "Unsupported", {"supported": list(supported), "requested": "?"})


def after(
    offer: Offer,
    *outcomes: Outcome,
    known: NegotiatedRevision | None = None,
    over_http: bool = False,
    restartable: bool = False,
) -> Step:
    """Return the step of a negotiation after these outcomes."""
    negotiation = Negotiation(offer, known, over_http=over_http, restartable=restartable)
    step = negotiation.start()
    for outcome in outcomes:
        assert not isinstance(step, (Adopt, Exception))
        step = negotiation.next(outcome)
    return step


def failure(step: Step) -> Any:
    assert isinstance(step, Exception)
    return step


class TestHandshake:
    @pytest.mark.shows("S0-17", "S1-09")
    def test_HC01_the_newest_is_proposed(self) -> None:
        assert after(LEGACY) == Ask(INITIALIZE, "2025-11-25")
        assert after(offer("2024-11-05", "2025-03-26")) == Ask(INITIALIZE, "2025-03-26")

    def test_client_without_revisions_is_refused(self) -> None:
        with pytest.raises(ValueError, match="at least one revision"):
            Negotiation(offer())

    def test_HC02_HC03_what_the_server_answers_is_adopted_if_it_is_on_offer(self) -> None:
        for version in OLD:
            with case(version):
                step = after(LEGACY, agreement(version))
                assert isinstance(step, Adopt)
                assert step.negotiated == NegotiatedRevision(version, "handshake")

    def test_HC04_anything_else_is_refused_naming_both_sides(self) -> None:
        for version in ["1999-01-01", NEW, "2025-11-25"]:
            with case(version):
                error = failure(after(offer("2024-11-05"), agreement(version)))
                assert isinstance(error, NegotiationError)
                assert (error.offered, error.supported) == (("2024-11-05",), (version,))

    def test_HC04_a_stateless_revision_is_never_agreed_on_by_a_handshake(self) -> None:
        error = failure(after(DUAL, SILENCE, agreement(NEW)))
        assert isinstance(error, NegotiationError)

    def test_HC04_no_revision_at_all_is_the_servers_fault(self) -> None:
        values: list[Json] = [None, {}, {"protocolVersion": 5}, [], "x"]
        for result in values:
            assert isinstance(failure(after(LEGACY, Answered(result))), InvalidAnswer)

    def test_HC05_a_refusal_that_names_revisions_gets_one_more_try_on_a_new_connection(
        self,
    ) -> None:
        refused = McpError(-32602, "Unsupported", {"supported": ["2025-03-26", "2024-11-05"]})
        assert after(LEGACY, refused) == Restart(Ask(INITIALIZE, "2025-03-26"))
        step = after(LEGACY, refused, refused)
        assert step == Restart(Ask(INITIALIZE, "2024-11-05"))
        assert isinstance(failure(after(LEGACY, refused, refused, refused)), NegotiationError)

    def test_HC05_refusal_with_any_code_that_names_revisions_is_followed(self) -> None:
        for code in (-32022, -32600, -32000):
            refused = McpError(code, "Unsupported", {"supported": ["2025-03-26"]})
            assert after(LEGACY, refused) == Restart(Ask(INITIALIZE, "2025-03-26"))

    def test_HC05_nothing_in_common_is_reported(self) -> None:
        refused = McpError(-32602, "Unsupported", {"supported": ["1999-01-01"]})
        assert failure(after(LEGACY, refused)).supported == ("1999-01-01",)

    def test_HC06_any_other_error_is_reported_as_it_came(self) -> None:
        for data in [None, {}, {"supported": "x"}, {"supported": [1]}]:
            with case(data):
                error = failure(after(LEGACY, McpError(-32602, "no", data)))
                assert isinstance(error, McpError)
                assert (error.code, error.message) == (-32602, "no")
                assert str(error) == str(McpError(-32602, "no", data))

    def test_HC07_silence_is_a_timeout(self) -> None:
        error = failure(after(LEGACY, RequestTimeout("initialize", 10)))
        assert isinstance(error, RequestTimeout)
        assert error.seconds == 10

    def test_broken_connection_chooses_no_revision(self) -> None:
        error = failure(after(LEGACY, Disconnected("exit code 3")))
        assert isinstance(error, Disconnected)
        assert "exit code 3" in str(error)


class TestStateless:
    def test_SC02_PS01_a_common_revision_is_adopted(self) -> None:
        both = offer(NEW, NEXT)
        step = after(both, Answered({"supportedVersions": [NEW, "x"]}))
        assert step == Adopt(
            NegotiatedRevision(NEW, "stateless"), {"supportedVersions": [NEW, "x"]}
        )

    def test_SC03_PS04_an_unsupported_revision_is_corrected_once_for_each_version(self) -> None:
        both = offer(NEW, NEXT)
        assert after(both) == Ask(DISCOVER, NEXT)
        assert after(both, refuse_version(NEW)) == Ask(DISCOVER, NEW)
        assert isinstance(
            failure(after(both, refuse_version(NEW), refuse_version(NEW))), NegotiationError
        )

    def test_SC04_a_listed_handshake_revision_means_the_handshake(self) -> None:
        assert after(DUAL, refuse_version("2025-06-18")) == Ask(INITIALIZE, "2025-06-18")

    def test_SC05_nothing_in_common_names_both_lists(self) -> None:
        error = failure(after(DUAL, refuse_version(NEXT)))
        assert (error.offered, error.supported) == (DUAL.all, (NEXT,))
        assert NEXT in str(error)
        assert NEW in str(error)

    def test_SC05_common_revision_is_never_said_not_to_be_common(self) -> None:
        contradictions: list[tuple[Offer, list[Outcome]]] = [
            (DUAL, [refuse_version(NEW)]),
            (DUAL, [refuse_version(NEW, NEXT)]),
            (MODERN, [refuse_version(NEW)]),
            (LEGACY, [refuse_version("2025-11-25")]),
            (DUAL, [SILENCE, refuse_version("2025-11-25")]),
            (DUAL, [SILENCE, agreement(NEW)]),
            (DUAL, [SILENCE, refuse_version(NEW), Answered({"supportedVersions": ["2025-11-25"]})]),
        ]
        for of_client, outcomes in contradictions:
            with case((of_client.all, outcomes)):
                error = failure(after(of_client, *outcomes))
                assert isinstance(error, NegotiationError)
                assert "in common" not in str(error)
                assert all(version in str(error) for version in error.supported)

    def test_PS02_discovered_handshake_revisions_mean_the_handshake(self) -> None:
        step = after(DUAL, Answered({"supportedVersions": [NEXT, "2025-03-26"]}))
        assert step == Ask(INITIALIZE, "2025-03-26")

    def test_PS03_nothing_in_common_is_reported(self) -> None:
        error = failure(after(DUAL, Answered({"supportedVersions": [NEXT]})))
        assert error.supported == (NEXT,)

    def test_PS05_a_modern_error_is_no_sign_of_an_old_server(self) -> None:
        error = failure(after(DUAL, McpError(-32021, "roots needed", {"requiredCapabilities": {}})))
        assert (error.code, error.message) == (-32021, "roots needed")

    def test_PS06_any_other_error_means_an_old_server(self) -> None:
        for code in [-32601, -32602, -32600, -32000, -32603, -32700, 0, 1]:
            assert after(DUAL, McpError(code, "what?")) == Ask(INITIALIZE, "2025-11-25")

    def test_PS07_a_header_error_is_like_any_other(self) -> None:
        assert after(DUAL, McpError(-32020, "headers")) == Ask(INITIALIZE, "2025-11-25")

    def test_PS06_an_answer_that_is_none_means_an_old_server(self) -> None:
        values: list[Json] = [{}, {"supportedVersions": "x"}, {"tools": []}, None, 1]
        for result in values:
            assert after(DUAL, Answered(result)) == Ask(INITIALIZE, "2025-11-25")

    def test_PS08_silence_means_an_old_server(self) -> None:
        assert after(DUAL, SILENCE) == Ask(INITIALIZE, "2025-11-25")

    def test_PS08_silent_program_is_started_afresh_for_the_handshake(self) -> None:
        assert after(DUAL, SILENCE, restartable=True) == Restart(Ask(INITIALIZE, "2025-11-25"))
        for outcome in (SILENCE, Disconnected("exit")):
            # But once only.
            assert isinstance(
                failure(after(DUAL, SILENCE, outcome, restartable=True)), type(outcome)
            )
        step = after(DUAL, SILENCE, refuse_version(NEW), SILENCE, restartable=True)
        assert step == Ask(INITIALIZE, "2025-11-25")

    def test_PS09_a_server_that_goes_is_started_once_more_with_a_handshake(self) -> None:
        assert after(DUAL, Disconnected("exit")) == Restart(Ask(INITIALIZE, "2025-11-25"))
        assert isinstance(
            failure(after(DUAL, Disconnected("exit"), Disconnected("exit"))), Disconnected
        )
        assert isinstance(failure(after(MODERN, Disconnected("exit"))), Disconnected)

    def test_PS10_a_handshake_refused_in_the_modern_way_is_probed_again_once(self) -> None:
        assert after(DUAL, SILENCE, refuse_version(NEW)) == Ask(DISCOVER, NEW)
        again = after(DUAL, SILENCE, refuse_version(NEW), Answered(DISCOVERED))
        assert again == Adopt(NegotiatedRevision(NEW, "stateless"), DISCOVERED)
        step = after(DUAL, SILENCE, refuse_version(NEW), SILENCE, refuse_version(NEW))
        assert isinstance(failure(step), NegotiationError)

    def test_PS08_silence_means_nothing_to_who_has_no_other_way_to_ask(self) -> None:
        for known in (None, NegotiatedRevision(NEW, "stateless")):
            error = failure(after(MODERN, RequestTimeout("server/discover", 30), known=known))
            assert isinstance(error, RequestTimeout)
            assert (error.method, error.seconds) == ("server/discover", 30)

    def test_PS11_a_modern_client_fails_clearly_at_an_old_server(self) -> None:
        for outcome in (McpError(-32601, "no"), Answered({})):
            error = failure(after(MODERN, outcome))
            assert isinstance(error, NegotiationError)
            assert NEW in str(error)


class TestKnown:
    def test_a_known_revision_spares_the_probe(self) -> None:
        known = NegotiatedRevision("2025-06-18", "handshake")
        assert after(DUAL, known=known) == Ask(INITIALIZE, "2025-06-18")
        assert after(DUAL, known=NegotiatedRevision(NEW, "stateless")) == Ask(DISCOVER, NEW)

    def test_a_known_revision_beyond_the_offer_is_ignored(self) -> None:
        assert after(LEGACY, known=NegotiatedRevision(NEW, "stateless")) == Ask(
            INITIALIZE, "2025-11-25"
        )
        assert after(DUAL, known=NegotiatedRevision("2025-11-25", "stateless")) == Ask(
            DISCOVER, NEW
        )

    def test_a_known_revision_that_proves_wrong_is_put_aside(self) -> None:
        known = NegotiatedRevision("2025-06-18", "handshake")
        assert after(DUAL, refuse_version(NEW), known=known) == Ask(DISCOVER, NEW)
        assert after(DUAL, McpError(-32601, "no"), known=known) == Restart(Ask(DISCOVER, NEW))
        step = after(DUAL, McpError(-32601, "no"), Answered(DISCOVERED), known=known)
        assert step == Adopt(NegotiatedRevision(NEW, "stateless"), DISCOVERED)


class Server:
    """A server that only negotiates."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._handshaken = False

    def answer(self, step: Ask) -> Outcome:
        message: JsonObject = {"jsonrpc": "2.0", "id": 1}
        if step.method == DISCOVER:
            message["method"] = "server/discover"
            message["params"] = {"_meta": {VERSION: step.version, CAPABILITIES: {}}}
        else:
            message["method"] = "initialize"
            message["params"] = {"protocolVersion": step.version}
        try:
            call = message_of(message)
            assert isinstance(call, Call)
            where = route(call, self._offer, handshaken=self._handshaken)
            if isinstance(where, str):
                return Answered({"supportedVersions": list(self._offer.stateless)})
            assert where is Route.INITIALIZE
            self._handshaken = True
            return agreement(answer_initialize({"protocolVersion": step.version}, self._offer))
        except RemoteError as error:
            return McpError(error.code, error.message, error.data)


@pytest.mark.shows("S1-41")
def test_MX_the_compatibility_matrix() -> None:
    for row, client, server, expected in [
        ("MX01", MODERN, MODERN, NEW),
        ("MX02", MODERN, LEGACY, None),
        ("MX03", MODERN, DUAL, NEW),
        ("MX04", DUAL, MODERN, NEW),
        ("MX05", DUAL, LEGACY, "2025-11-25"),
        ("MX06", DUAL, DUAL, NEW),
        ("MX07", LEGACY, MODERN, None),
        ("MX08", LEGACY, DUAL, "2025-11-25"),
        ("MX09", LEGACY, LEGACY, "2025-11-25"),
        ("MX09 older", offer("2024-11-05"), LEGACY, "2024-11-05"),
    ]:
        with case((row, client, server, expected)):
            negotiation, peer = Negotiation(client), Server(server)
            step = negotiation.start()
            while not isinstance(step, (Adopt, Exception)):
                assert isinstance(step, Ask)
                step = negotiation.next(peer.answer(step))
            if expected is None:
                error = failure(step)
                assert isinstance(error, NegotiationError)
                # The caller learns the server's revisions, if stated.
                assert row == "MX02" or NEW in str(error)
            else:
                assert isinstance(step, Adopt)
                assert step.negotiated.revision == expected


VERSIONS = st.lists(st.sampled_from([*OLD, NEW, NEXT, "x"]), max_size=3)
OUTCOMES: st.SearchStrategy[Outcome] = st.one_of(
    VERSIONS.map(lambda names: Answered({"supportedVersions": names})),
    st.sampled_from([*OLD, NEW, "x", None]).map(lambda name: Answered({"protocolVersion": name})),
    st.builds(
        McpError,
        st.sampled_from([-32020, -32021, -32022, -32601, -32602, 1]),
        st.just("no"),
        st.none() | VERSIONS.map(lambda names: {"supported": names}),
    ),
    st.just(SILENCE),
    st.just(Disconnected("gone")),
)
STATUSES = st.builds(
    HttpError,
    st.sampled_from([200, 302, 400, 401, 404, 429, 500, 503]),
    st.just("no"),
    retry_after=st.none() | st.just(1.0),
)
OFFERS = st.lists(st.sampled_from([*OLD, NEW, NEXT]), min_size=1, unique=True).map(
    lambda ids: offer(*sorted(ids))
)


@pytest.mark.shows("S0-16")
@given(OFFERS, st.lists(OUTCOMES | STATUSES, min_size=30, max_size=30), *[st.booleans()] * 3)
def test_every_negotiation_ends_within_its_offer(
    ours: Offer, outcomes: list[Outcome], remembered: bool, over_http: bool, restartable: bool
) -> None:
    first = NegotiatedRevision(*next(iter(ours.eras.items())))
    negotiation = Negotiation(
        ours, first if remembered else None, over_http=over_http, restartable=restartable
    )
    step = negotiation.start()
    for outcome in outcomes:
        if isinstance(step, Restart):
            step = step.then
        if isinstance(step, (Adopt, Exception)):
            break
        assert step.version in (ours.stateless if step.method == DISCOVER else ours.handshake)
        step = negotiation.next(outcome)
    assert isinstance(step, (Adopt, Exception))
    if isinstance(step, Adopt):
        assert step.negotiated.revision in ours.of(step.negotiated.era)
