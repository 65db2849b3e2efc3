"""The decisions of a server. Tests carry the ids of the decision tables' rows."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.core.errors import (
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    RemoteError,
)
from mcp_protogen.runtime.messages.jsonrpc import Call, Malformed, message_of
from mcp_protogen.runtime.rules.server_negotiation import (
    Offer,
    Route,
    UnsupportedInHandshake,
    UnsupportedVersion,
    answer_initialize,
    route,
)
from support.json_types import Json, JsonObject
from support.runtime.offers import CAPABILITIES, DUAL, LEGACY, MODERN, NEW, OLD, VERSION, offer
from support.tables import case


def request(method: str = "tools/list", version: Any = None, **meta: Any) -> JsonObject:
    message: JsonObject = {"jsonrpc": "2.0", "id": 7, "method": method}
    if version is not None:
        message["params"] = {"_meta": {VERSION: version, CAPABILITIES: {}, **meta}}
    return message


def route_of(message: object, offer: Offer, handshaken: bool = False) -> str | Route:
    call = message_of(message)
    if isinstance(call, Malformed):
        raise call.error
    assert isinstance(call, Call)
    return route(call, offer, handshaken=handshaken)


class TestInitialize:
    @pytest.mark.shows("S0-18", "S1-10")
    def test_HS01_a_revision_on_offer_is_agreed_to(self) -> None:
        for version in OLD:
            assert answer_initialize({"protocolVersion": version}, DUAL) == version

    @pytest.mark.shows("S1-11")
    def test_HS02_any_other_is_answered_with_the_newest_of_the_era(self) -> None:
        for version in ["1999-01-01", "2099-01-01", "", "draft", NEW]:
            with case(version):
                assert answer_initialize({"protocolVersion": version}, DUAL) == "2025-11-25"
                assert (
                    answer_initialize({"protocolVersion": version}, offer("2024-11-05"))
                    == "2024-11-05"
                )

    def test_HS02_the_offer_is_a_ceiling(self) -> None:
        assert answer_initialize({"protocolVersion": "2025-11-25"}, offer(*OLD[:2])) == OLD[1]

    @pytest.mark.shows("S1-14")
    def test_HS03_nothing_to_offer_is_invalid_params_with_both_sides_named(self) -> None:
        with pytest.raises(UnsupportedInHandshake) as caught:
            answer_initialize({"protocolVersion": "2025-11-25"}, MODERN, 3)
        assert (caught.value.code, caught.value.id) == (-32602, 3)
        assert caught.value.data == {"supported": [NEW], "requested": "2025-11-25"}

    def test_HS04_no_revision_asked_for_is_invalid_params(self) -> None:
        for params in [{}, {"protocolVersion": 1}]:
            with case(params):
                with pytest.raises(InvalidParams) as caught:
                    answer_initialize(params, DUAL)
                assert caught.value.problems[0][0] == "/params/protocolVersion"

    def test_CN08_order_is_that_of_the_offer_not_of_the_text(self) -> None:
        strange = Offer({"zebra": "handshake", "apple": "handshake"})
        assert answer_initialize({"protocolVersion": "?"}, strange) == "apple"


class TestRoutes:
    def test_DS01_a_revision_in_meta_is_stateless_whatever_came_before(self) -> None:
        for handshaken in [False, True]:
            assert route_of(request(version=NEW), DUAL, handshaken) == NEW

    def test_DS02_initialize_begins_a_handshake(self) -> None:
        assert route_of(request("initialize"), DUAL) == Route.INITIALIZE

    def test_DS04_after_a_handshake_the_rest_belongs_to_it(self) -> None:
        assert route_of(request(), DUAL, True) == Route.HANDSHAKE
        assert (
            route_of({"jsonrpc": "2.0", "method": "notifications/x"}, DUAL, True) == Route.HANDSHAKE
        )

    def test_DS05_HS08_before_a_handshake_only_pings_are_answered(self) -> None:
        for server in [LEGACY, DUAL]:
            with case(server):
                assert route_of(request("ping"), server) == Route.NOTHING
                with pytest.raises(InvalidRequest) as caught:
                    route_of(request(), server)
                assert caught.value.id == 7

    def test_HS07_a_second_initialize_is_refused(self) -> None:
        with pytest.raises(InvalidRequest):
            route_of(request("initialize"), DUAL, True)

    def test_DS12_a_handshake_revision_in_meta_is_unsupported(self) -> None:
        with pytest.raises(UnsupportedVersion) as caught:
            route_of(request(version="2025-11-25"), DUAL)
        assert caught.value.data["supported"] == [NEW, *reversed(OLD)]

    def test_SO02_SS09_without_meta_a_modern_server_says_what_is_missing(self) -> None:
        with pytest.raises(InvalidParams) as caught:
            route_of(request(), MODERN)
        pointers = [pointer for pointer, _ in caught.value.problems]
        escaped = [key.replace("/", "~1") for key in (VERSION, CAPABILITIES)]
        assert pointers == [f"/params/_meta/{key}" for key in escaped]

    def test_SS09_what_is_there_has_to_be_of_its_type(self) -> None:
        rows: list[tuple[JsonObject, Json]] = [
            ({VERSION: 1}, VERSION),
            ({CAPABILITIES: None}, CAPABILITIES),
            ({CAPABILITIES: []}, CAPABILITIES),
        ]
        for meta, missing in rows:
            with case((meta, missing)):
                with pytest.raises(InvalidParams) as caught:
                    route_of(request(version=NEW, **meta), DUAL)
                assert caught.value.problems[0][0].endswith(missing.replace("/", "~1"))

    def test_SO03_SS11_a_revision_not_on_offer_is_unsupported(self) -> None:
        for method in ["tools/list", "server/discover", "initialize"]:
            with case(method):
                with pytest.raises(UnsupportedVersion) as caught:
                    route_of(request(method, version="2099-01-01"), MODERN)
                assert (caught.value.code, caught.value.id) == (-32022, 7)
                assert caught.value.data == {"supported": [NEW], "requested": "2099-01-01"}

    def test_SO05_SS07_initialize_at_a_modern_server_names_its_revisions(self) -> None:
        message = {**request("initialize"), "params": {"protocolVersion": "2025-11-25"}}
        with pytest.raises(UnsupportedVersion) as caught:
            route_of(message, MODERN)
        assert caught.value.data == {"supported": [NEW], "requested": "2025-11-25"}

    def test_a_legacy_server_answers_a_probe_as_it_answers_any_unknown_method(self) -> None:
        with pytest.raises(MethodNotFound):
            route_of(request("server/discover", version=NEW), LEGACY)
        assert route_of(request(version=NEW), LEGACY, True) == Route.HANDSHAKE

    def test_notifications_are_never_refused(self) -> None:
        for version in ("2099-01-01", 5):
            message = {"jsonrpc": "2.0", "method": "x", "params": {"_meta": {VERSION: version}}}
            assert route_of(message, DUAL) == Route.NOTHING
        assert route_of({"jsonrpc": "2.0", "method": "x"}, MODERN) == Route.NOTHING


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from([NEW, *OLD]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["_meta", VERSION, CAPABILITIES, "protocolVersion", "x"]), inner, max_size=4
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["jsonrpc", "id", "params", "result", "error"]), JSON),
    JSON | st.sampled_from(["initialize", "ping", "server/discover"]),
    st.sampled_from([LEGACY, MODERN, DUAL]),
    st.booleans(),
)
def test_whatever_comes_is_routed_or_refused(
    message: JsonObject, method: Any, server: Offer, handshaken: bool
) -> None:
    try:
        route_of({**message, "method": method}, server, handshaken)
    except RemoteError as error:
        assert error.id is None or error.id == message["id"]
