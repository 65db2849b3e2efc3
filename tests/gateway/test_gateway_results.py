"""Results of servers that pass through a gateway within one revision."""

import json
from typing import Any

import pytest
from support.json_types import JsonObject
from support.revisions import ERAS, OLD
from support.sessions.talking import (
    META,
    Accepting,
    Hand,
    discover_result,
    error,
    request,
    serve_by_hand,
    shaken,
)
from support.sessions.wiretap import result, shake
from support.tables import case
from support.toolkit.mounting import app_with_remote

ODD: JsonObject = {"x-more": {"a": [None, 1]}}
OF_VENDOR: JsonObject = {"vendor/key": {"a": None}}
ABOUT: JsonObject = {"_meta": OF_VENDOR, **ODD}
NOTED: JsonObject = {"audience": ["user", "robot"], "priority": 1, **ODD}
UNDECLARED: JsonObject = {"uri": "data://b", "resource": {"uri": "data://b"}}
TEXT: JsonObject = {"type": "text", "text": "hi", "annotations": NOTED, **ABOUT, **UNDECLARED}
UNKNOWN: JsonObject = {"type": "hologram", "data": None, **ABOUT}
SCHEMA: JsonObject = {"type": "object", "x": None, "properties": {"n": {"type": "integer"}}}

ANSWERS: dict[str, JsonObject] = {
    "tools/list": {
        "tools": [
            {
                "name": "x",
                "inputSchema": SCHEMA,
                "outputSchema": SCHEMA,
                "icons": [{"src": "https://a", "theme": "sepia"}, {"src": "b", "theme": "dark"}],
                **ABOUT,
            }
        ]
    },
    "tools/call": {
        "content": [TEXT, UNKNOWN],
        "structuredContent": {"n": "no number"},
        "contents": [UNDECLARED],
        **ABOUT,
        **UNDECLARED,
    },
    "prompts/get": {
        "messages": [{"role": "robot", "content": TEXT}, {"role": "user", "content": UNKNOWN}],
        **ABOUT,
    },
    "resources/read": {"contents": [{"uri": "data://a", "text": "t", **ABOUT}], **ABOUT},
    "completion/complete": {"completion": {"values": ["a"], **ODD}, **ABOUT},
}
ASKED: dict[str, JsonObject] = {
    "tools/list": {},
    "tools/call": {"name": "r_x", "arguments": {"a": None}},
    "prompts/get": {"name": "r_x", **ODD},
    "resources/read": {"uri": "data://r/a", **ODD},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "r_x", **ODD},
        "argument": {"name": "a", "value": "b", **ODD},
        **ODD,
    },
}


class Answering:
    """A remote server with these answers; it records the requests."""

    def __init__(self, revision: str) -> None:
        self.revision = revision
        self.asked: list[JsonObject] = []

    async def play(self, hand: Hand) -> None:
        can: JsonObject = {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}
        kind: JsonObject = {}
        if self.revision == OLD:
            await shake(hand, **can)
        else:
            await hand.send(discover_result((await hand.take())["id"], **can))
            kind = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        while (asked := await hand.take()) is not None:
            self.asked.append(asked)
            answer = {**kind, **ANSWERS[asked["method"]]}
            if asked["params"].get("name") == "fail":
                await hand.send(error(asked["id"], -32099, "odd", OF_VENDOR))
            else:
                await hand.send(result(asked["id"], **answer))


def with_prefix(value: JsonObject) -> JsonObject:
    """Return a message of the server with the names that clients use."""
    text = json.dumps(value).replace('"name": "x"', '"name": "r_x"')
    prefixed: JsonObject = json.loads(text.replace("data://a", "data://r/a"))
    return prefixed


@pytest.mark.parametrize("revision", ERAS)
async def test_gateway_passes_unknown_members_and_values_in_both_directions(revision: str) -> None:
    remote = Answering(revision)
    top = app_with_remote(revision, Accepting(remote.play), concurrency=None)
    own: JsonObject = {} if revision == OLD else META
    async with shaken(top) if revision == OLD else serve_by_hand(top) as hand:
        for method, params in ASKED.items():
            with case(method):
                remote.asked.clear()
                await hand.send(request(method, 1, **params, _meta={**own, **OF_VENDOR}))
                told: Any = (await hand.take())["result"]
                expected = with_prefix(ANSWERS[method])
                told.get("_meta", {}).pop("io.modelcontextprotocol/serverInfo", None)
                told = {name: member for name, member in told.items() if name in expected}
                assert told == expected
                (asked,) = remote.asked
                if method != "tools/list":
                    sent = with_prefix(asked["params"])
                    assert sent.pop("_meta").items() >= OF_VENDOR.items()
                    assert sent == params
        await hand.send(request("tools/call", 2, name="r_fail", _meta=own))
        refused = (await hand.take())["error"]
        assert refused == {"code": -32099, "message": "odd", "data": OF_VENDOR}
