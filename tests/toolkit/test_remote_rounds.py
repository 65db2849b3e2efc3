"""Questions in results of a remote server of the stateless era: the client keeps all in between."""

from contextlib import AsyncExitStack
from typing import Any

from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.bridging import ASKED, serve_bridged
from support.sessions.talking import (
    CAPABILITIES,
    META,
    Accepting,
    Hand,
    discover_result,
    error,
    modern,
    request,
    serve_by_hand,
)
from support.sessions.wiretap import FORM, result, shake
from support.tables import case
from support.toolkit.mounting import app, app_with_remote

KEYS = [b"0123456789abcdef"]
ACCEPTED: JsonObject = {"action": "accept", "content": {"x": "y"}}


def form(message: str, **more: Json) -> JsonObject:
    params = {"message": message, "requestedSchema": FORM, **more}
    return {"method": "elicitation/create", "params": params}


ROUNDS: list[JsonObject] = [
    {"inputRequests": {"a": form("first", more=[None])}, "more": {"b": None}},
    {"requestState": "1"},
    {"inputRequests": {"b": form("second"), "c": form("third")}, "requestState": "2"},
]
"""A question without a state, a state without questions, and both."""


class Interview:
    """A remote server whose tool ends four rounds; it records what it is sent."""

    def __init__(self, rounds: list[JsonObject] = ROUNDS) -> None:
        self.rounds = rounds
        self.seen: list[JsonObject] = []
        self.open = Accepting(self._play)

    async def _play(self, hand: Hand) -> None:
        while (asked := await hand.take()) is not None:
            if asked["method"] == "server/discover":
                await hand.send(discover_result(asked["id"], tools={}))
            elif asked["method"] == "initialize":
                supported = {"supported": [STATELESS], "requested": OLD}
                await hand.send(error(asked["id"], -32022, data=supported))
            elif asked["method"] == "tools/call":
                self.seen.append(asked["params"])
                number = len(self.seen) - 1
                done = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
                asking = {"resultType": "input_required"}
                more = number < len(self.rounds)
                given = {**asking, **self.rounds[number]} if more else done
                await hand.send(result(asked["id"], **given))


def call(id: int, name: str = "r_x", **members: Json) -> JsonObject:
    return modern("tools/call", id, name=name, _meta=ASKED, **members)


async def test_each_round_may_reach_another_gateway() -> None:
    interview = Interview()
    async with AsyncExitStack() as stack:
        hands: list[Hand] = []
        for _ in range(2):
            top = serve_by_hand(app_with_remote(STATELESS, interview.open), state_keys=KEYS)
            hands.append(await stack.enter_async_context(top))
        members: JsonObject = {}
        for number, expected in enumerate(ROUNDS):
            hand = hands[number % 2]
            await hand.send(call(number, **members))
            asked = (await hand.take())["result"]
            state = asked.pop("requestState")
            del asked["_meta"]
            plain = {name: value for name, value in expected.items() if name != "requestState"}
            assert asked == {"resultType": "input_required", **plain}
            members = {"requestState": state}
            if "inputRequests" in asked:
                members["inputResponses"] = dict.fromkeys(asked["inputRequests"], ACCEPTED)
        await hands[1].send(call(9, **members))
        assert (await hands[1].take())["result"]["content"][0]["text"] == "done"
    of_rounds = [(seen.get("requestState"), seen.get("inputResponses")) for seen in interview.seen]
    assert of_rounds == [
        (None, None),
        (None, {"a": ACCEPTED}),
        ("1", None),
        ("2", {"b": ACCEPTED, "c": ACCEPTED}),
    ]


async def test_state_of_one_server_does_not_reach_another() -> None:
    one, other = Interview(ROUNDS[2:]), Interview()
    async with (
        serve_by_hand(app_with_remote(STATELESS, one.open, name="one"), state_keys=KEYS) as hand,
        serve_by_hand(
            app_with_remote(STATELESS, other.open, name="other"), state_keys=KEYS
        ) as wrong,
    ):
        await hand.send(call(1))
        asked = (await hand.take())["result"]
        assert asked["requestState"] != "2"
        await wrong.send(call(2, requestState=asked["requestState"]))
        assert (await wrong.take())["error"]["message"] == "requestState is of another server"
    assert other.seen == []


async def test_answers_that_a_client_sends_at_once_reach_the_server() -> None:
    interview = Interview([])
    async with serve_by_hand(app_with_remote(STATELESS, interview.open)) as hand:
        await hand.send(call(1, inputResponses={"a": ACCEPTED}))
        assert (await hand.take())["result"]["content"][0]["text"] == "done"
    (seen,) = interview.seen
    assert seen["inputResponses"] == {"a": ACCEPTED}


async def test_middleware_between_may_ask_before_the_server_does() -> None:
    interview, top = Interview(ROUNDS[2:]), app(STATELESS)
    between = app_with_remote(STATELESS, interview.open)
    top.mount("t", between)

    async def ask_first(call: Any, next: Any) -> Any:
        if call.method == "tools/call":
            answer = await call.session.ask("May I?", bool)
            assert answer.value is True
        return await next(call)

    between.middleware = (ask_first,)
    async with serve_by_hand(top, state_keys=KEYS) as hand:
        members: JsonObject = {}
        said: list[list[str]] = []
        for number in range(2):
            await hand.send(call(number, "t_r_x", **members))
            asked = (await hand.take())["result"]
            questions = asked["inputRequests"]
            said.append([question["params"]["message"] for question in questions.values()])
            content = {"value": True, "x": "y"}
            answers = {key: {"action": "accept", "content": content} for key in questions}
            members = {"requestState": asked["requestState"], "inputResponses": answers}
        await hand.send(call(2, "t_r_x", **members))
        assert (await hand.take())["result"]["content"][0]["text"] == "done"
    assert said == [["May I?"], ["second", "third"]]
    of_rounds = [(seen.get("requestState"), seen.get("inputResponses")) for seen in interview.seen]
    assert of_rounds[0] == (None, None)
    assert of_rounds[1][0] == "2"


async def test_server_is_told_only_of_the_questions_that_its_settings_allow() -> None:
    interview = Interview()
    everything: JsonObject = {"elicitation": {}, "sampling": {}, "roots": {}, "experimental": {}}
    top = app_with_remote(STATELESS, interview.open, questions=frozenset({"roots"}))
    async with serve_by_hand(top) as hand:
        meta = {**META, CAPABILITIES: everything}
        await hand.send(modern("tools/call", 1, name="r_x", _meta=meta))
        refused = (await hand.take())["error"]
    (seen,) = interview.seen
    assert seen["_meta"][CAPABILITIES] == {"roots": {}, "experimental": {}}
    assert refused["code"] == -32603
    assert refused["message"] == (
        "The server's answer to tools/call cannot be read: "
        "/result/inputRequests/a: needs client.elicitation, which is not declared"
    )


async def test_request_starts_again_after_urls_that_a_server_with_a_handshake_wants_visited() -> (
    None
):
    visit = {"mode": "url", "message": "Log in", "url": "https://a", "elicitationId": "1"}
    seen: list[str] = []

    async def play(hand: Hand) -> None:
        await shake(hand, tools={})
        while (asked := await hand.take()) is not None:
            seen.append(asked["method"])
            if len(seen) == 1:
                await hand.send(error(asked["id"], -32042, data={"elicitations": [visit]}))
            else:
                await hand.send(result(asked["id"], content=[{"type": "text", "text": "in"}]))

    meta: JsonObject = {**META, CAPABILITIES: {"elicitation": {"url": {}}}}
    for bridge in (False, True):
        seen.clear()
        top = app_with_remote(STATELESS, Accepting(play))
        with case(bridge):
            async with serve_bridged(Accepting(play)) if bridge else serve_by_hand(top) as hand:
                await hand.send(modern("tools/call", 1, name="r_x", _meta=meta))
                asked = (await hand.take())["result"]
                (question,) = asked["inputRequests"].values()
                assert question["params"]["url"] == "https://a"
                given: JsonObject = {key: {"action": "accept"} for key in asked["inputRequests"]}
                given = {"inputResponses": given, "requestState": asked["requestState"]}
                await hand.send(request("tools/call", 2, name="r_x", _meta=meta, **given))
                assert (await hand.take())["result"]["content"][0]["text"] == "in"
