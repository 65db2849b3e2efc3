"""Ids of sessions and events that are guessed, forged, or foreign."""

from typing import Any

import pytest
from support.http.fire import Answer, Fields, Site, call, http, serve_under_attack
from support.sessions.talking import hello, pkg
from support.sharing.faults import Engine
from support.tables import case

ALICE, BOB = "Bearer alice-alice-alice-alice", "Bearer bob-bob-bob-bob-bob-bob-bob"
TOKENS = {
    ALICE.removeprefix("Bearer "): pkg.Principal("alice"),
    BOB.removeprefix("Bearer "): pkg.Principal("bob"),
}
FORGED = (
    *("x", "0", "*", "null", "", "{}", "a b", "\xff\xfe", "x" * 43, "x" * 20_000),
    *("../../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "a/b\\c:d", "' OR 1=1 --"),
)


async def stream_ids(site: Site, mine: Fields) -> list[str]:
    """Return the ids of the events of a call answered by a stream."""
    answer = await site.ask(http(call("flood", times=3), **mine))
    return ids_of(answer)


def ids_of(answer: Answer) -> list[str]:
    lines = answer.body.decode().splitlines()
    return [line.removeprefix("id: ") for line in lines if line.startswith("id: ")]


async def try_session(site: Site, mine: Fields) -> list[Answer]:
    """Use a session in every way; return the answers."""
    return [
        await site.ask(http(call("echo"), **mine)),
        await site.ask(http({"jsonrpc": "2.0", "id": 1, "result": {}}, **mine)),
        await site.ask(http(hello(), **mine)),
        await site.ask(http(b"", "GET", **mine)),
        await site.ask(http(b"", "GET", **{**mine, "last-event-id": "0.1"})),
        await site.ask(http(b"", "DELETE", **mine)),
    ]


async def test_a_forged_session_is_not_found_whatever_is_asked_of_it() -> None:
    for id in FORGED:
        with case(id):
            async with serve_under_attack() as site:
                await site.session()
                for answer in await try_session(site, {"mcp-session-id": id}):
                    assert answer.status in ((404, 400) if id == "" else (404,))
                    assert answer.message["error"]["code"] == -32600
                await site.is_fine()


async def test_a_session_of_somebody_else_looks_like_none() -> None:
    authentication = pkg.Authentication(verify=pkg.static_tokens(TOKENS))
    async with serve_under_attack(authentication=authentication) as site:
        alices = await site.session(authorization=ALICE)
        bobs = {**alices, "authorization": BOB}
        unknown = {"mcp-session-id": "x" * 43, "authorization": BOB}
        for foreign, none in zip(
            await try_session(site, bobs), await try_session(site, unknown), strict=True
        ):
            assert foreign == none
            assert foreign.status == 404
        assert (await site.ask(http(call("echo"), **alices))).status == 200
        assert site.attacked.begun == 1
        for answer in await try_session(site, {**alices, "authorization": None}):
            assert answer.status == 401
        await site.is_fine(authorization=ALICE)


async def test_trying_the_sessions_of_others_does_not_keep_them_alive() -> None:
    authentication = pkg.Authentication(verify=pkg.static_tokens(TOKENS))
    chosen: Any = {"max_sessions": 2, "max_sessions_per_principal": 2}
    async with serve_under_attack(authentication=authentication, **chosen) as site:
        alices = await site.session(authorization=ALICE)
        bobs = await site.session(authorization=BOB)
        assert (
            await site.ask(http(call("echo"), **{**alices, "authorization": BOB}))
        ).status == 404
        await site.session(authorization=BOB)
        assert (await site.ask(http(call("echo"), **bobs))).status == 200
        assert (await site.ask(http(call("echo"), **alices))).status == 404
        await site.is_fine(authorization=ALICE)


async def test_engines_are_not_asked_for_what_cannot_be_an_id() -> None:
    engine: Any = Engine()
    async with serve_under_attack(shared=pkg.Shared(engine=engine)) as site:
        for id in FORGED:
            await site.ask(http(call("echo"), **{"mcp-session-id": id}))
        assert engine.calls == ["sessions.open"]
        mine = await site.session()
        engine.calls.clear()
        for id in FORGED:
            await site.ask(http(b"", "GET", **{**mine, "last-event-id": f"{id}.1"}))
        assert engine.calls == []
        await site.is_fine()


async def test_events_are_given_out_in_their_own_session_only() -> None:
    async with serve_under_attack() as site:
        mine, other = await site.session(), await site.session()
        ids = await stream_ids(site, mine)
        assert len(ids) == 5
        for id in ids:
            foreign = await site.ask(http(b"", "GET", **{**other, "last-event-id": id}))
            assert foreign.status == 400
        again = await site.ask(http(b"", "GET", **{**mine, "last-event-id": ids[0]}))
        assert (again.status, ids_of(again)) == (200, ids[1:])
        await site.is_fine()


async def test_forged_events_are_not_known() -> None:
    async with serve_under_attack() as site:
        mine = await site.session()
        id = (await stream_ids(site, mine))[-1]
        name, _, number = id.rpartition(".")
        wrong = ("99999999999999", "-1", "+1", "1e1", "1.1", "\xb2", "", "9" * 5000)
        for forged in (
            *FORGED,
            *(f"{name}.{text}" for text in (int(number) + 1, *wrong)),
            *(name, f".{number}", f"{name.swapcase()}.{number}"),
        ):
            answer = await site.ask(http(b"", "GET", **{**mine, "last-event-id": forged}))
            assert answer.status == 400, forged
        await site.is_fine()


@pytest.mark.shows("S3-38")
async def test_a_stream_can_be_read_again_from_each_of_its_events() -> None:
    async with serve_under_attack() as site:
        mine = await site.session()
        first, second = await stream_ids(site, mine), await stream_ids(site, mine)
        assert not set(first) & set(second)
        for ids in (first, second):
            for place, id in enumerate(ids):
                for _ in range(2):
                    data = http(b"", "GET", **{**mine, "last-event-id": id})
                    assert ids_of(await site.ask(data)) == ids[place + 1 :]
        await site.is_fine()
