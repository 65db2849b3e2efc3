"""Stores that are slow, fail, or forget, and what clients notice of it: nothing, mostly."""

import asyncio
from typing import Any

from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import Event, Events, Session, outcome, serving
from support.json_types import JsonObject
from support.revisions import OLD
from support.sessions.talking import pkg, request, tools

CHANGED = "notifications/tools/list_changed"
MESSAGE = "notifications/message"
UPDATED = "notifications/resources/updated"
PROGRESS: JsonObject = {"_meta": {"progressToken": "p"}}


class Held:
    """Tools that say something; one of them goes on when the test lets it."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, session: mcp.Session, params: CallToolRequestParams) -> str:
        if params.name == "held":
            self.begun.set()
            await self.go.wait()
        await session.log("info", "of little weight")
        await session.progress(1, 2)
        return "done"


def ours(call: Any = None) -> Any:
    return tools(OLD, call or Held(), SENDS=frozenset({CHANGED, MESSAGE, UPDATED}))


class Records:
    """Records of sessions; to save or load one may take until the test says so, or fail."""

    def __init__(self) -> None:
        self.kept: JsonObject = {}
        self.fails = False
        self.loaded = asyncio.Event()
        self.saving = asyncio.Event()
        self.may_save = asyncio.Event()
        self.may_save.set()
        self.may_load = asyncio.Event()
        self.may_load.set()

    async def save(self, id: str, record: Any, lifetime: float) -> None:
        self.saving.set()
        await self.may_save.wait()
        self._check()
        self.kept[id] = record

    async def load(self, id: str) -> Any:
        record, may_load = self.kept.get(id), self.may_load
        self.loaded.set()
        await may_load.wait()
        return record

    async def delete(self, id: str) -> None:
        self._check()
        self.kept.pop(id, None)

    async def next_save(self) -> None:
        """Wait until a record is saved once more."""
        self.saving.clear()
        await self.saving.wait()

    def _check(self) -> None:
        if self.fails:
            raise LookupError("the store is away")


class FailingEvents:
    """Keeps events, while it does not fail."""

    def __init__(self) -> None:
        self.fails = False
        self._store = pkg.MemoryEventStore()
        self.after = self._store.after

    async def append(self, session: str, stream: str, event: Any) -> None:
        if self.fails:
            raise LookupError("the store is away")
        await self._store.append(session, stream, event)

    async def forget(self, session: str) -> None:
        if self.fails:
            raise LookupError("the store is away")
        await self._store.forget(session)


async def next_said(events: Events) -> Event:
    """The next event that says something."""
    while True:
        event = await events.event()
        assert event is not None
        if event.data:
            return event


async def set_level(session: Session, level: str, id: int = 5) -> tuple[int, int | None]:
    return outcome(await session.post(request("logging/setLevel", id, level=level)))


class TestRecordsInUse:
    """A record does not lapse while its session is used."""

    async def test_it_is_saved_again_while_a_client_only_listens(self) -> None:
        store = Records()
        async with serving(ours(), session_store=store, session_lifetime=0.05) as site:
            session = await site.initialize()
            async with session.get():
                for _ in range(3):
                    await store.next_save()

    async def test_it_is_saved_again_while_a_stream_is_resumed(self) -> None:
        store, held = Records(), Held()
        async with serving(ours(held), session_store=store, session_lifetime=0.05) as site:
            session = await site.initialize()
            async with session.get() as events:
                first = await events.event()
            assert first is not None
            async with session.get(first.id):
                for _ in range(3):
                    await store.next_save()

    async def test_it_is_saved_again_while_a_request_is_worked_on(self) -> None:
        store, held = Records(), Held()
        async with serving(ours(held), session_store=store, session_lifetime=0.05) as site:
            session = await site.initialize()
            under_way = asyncio.create_task(session.call("held"))
            await held.begun.wait()
            try:
                for _ in range(3):
                    await store.next_save()
            finally:
                held.go.set()
                await under_way

    async def test_RJ08_one_that_was_ended_elsewhere_is_not_saved_again(self) -> None:
        store, server = Records(), ours()
        options: JsonObject = {"session_store": store, "session_lifetime": 0.2}
        async with serving(server, **options) as here, serving(server, **options) as there:
            session = await here.initialize()
            async with session.get() as events:
                assert await events.event() is not None
                fields = {"mcp-session-id": session.id}
                gone = await there.http.delete(there.url, headers=fields)
                assert gone.status_code == 204
                # The stream ends with the session, as soon as it would be saved again.
                await events.all()
            assert store.kept == {}
            assert (await session.post(request("ping", 9))).status_code == 404


class TestSlowRecords:
    """Requests of a session that come while a change of it is being saved."""

    async def test_what_is_being_saved_is_not_taken_back(self) -> None:
        store, server = Records(), ours()
        async with serving(server, session_store=store) as site:
            session = await site.initialize()
            async with session.get() as events:
                assert await events.event() is not None
                store.saving.clear()
                store.may_save.clear()
                subscribe = request("resources/subscribe", 5, uri="file:///a")
                subscribing = asyncio.create_task(session.post(subscribe))
                await store.saving.wait()
                store.loaded.clear()
                beside = asyncio.create_task(session.post(request("ping", 6)))
                # It has what was saved before, where nothing is subscribed to.
                await store.loaded.wait()
                await server.resource_updated("file:///a")
                assert (await next_said(events)).message["params"] == {"uri": "file:///a"}
                store.may_save.set()
                assert outcome(await subscribing) == (200, None)
                assert outcome(await beside) == (200, None)

    async def test_what_was_saved_since_a_record_was_loaded_is_not_taken_back(self) -> None:
        store, server = Records(), ours()
        async with serving(server, session_store=store) as site:
            session = await site.initialize()
            async with session.get() as events:
                assert await events.event() is not None
                store.loaded.clear()
                usual, store.may_load = store.may_load, asyncio.Event()
                slow = asyncio.create_task(session.post(request("ping", 6)))
                # It gets what was saved before, where nothing is subscribed to.
                await store.loaded.wait()
                come, store.may_load = store.may_load, usual
                subscribe = request("resources/subscribe", 5, uri="file:///a")
                assert outcome(await session.post(subscribe)) == (200, None)
                come.set()
                assert outcome(await slow) == (200, None)
                await server.resource_updated("file:///a")
                assert (await next_said(events)).message["params"] == {"uri": "file:///a"}


class TestFailingRecords:
    """A store that fails now and then."""

    async def test_a_stream_ends_with_the_answer_though_the_record_cannot_be_saved(self) -> None:
        store = Records()
        # A record is due to be saved again as soon as it was saved.
        async with serving(ours(), session_store=store, session_lifetime=1e-6) as site:
            session = await site.initialize()
            store.fails = True
            async with session.calling("x", 7, **PROGRESS) as events:
                said = [event.message.get("id") for event in await events.all() if event.data]
            assert said == [None, None, 7]

    async def test_what_could_not_be_saved_is_saved_with_the_next_request(self) -> None:
        store = Records()
        async with serving(ours(), session_store=store) as site:
            session = await site.initialize()
            store.fails = True
            assert await set_level(session, "error") == (200, None)
            store.fails = False
            assert outcome(await session.post(request("ping", 6))) == (200, None)
            assert store.kept[session.id].level == "error"

    async def test_a_session_that_could_not_be_deleted_goes_on_being_saved(self) -> None:
        store = Records()
        async with serving(ours(), session_store=store) as site:
            session = await site.initialize()
            store.fails = True
            assert (await session.delete()).status_code == 500
            store.fails = False
            assert await set_level(session, "error") == (200, None)
            assert store.kept[session.id].level == "error"

    async def test_a_session_that_could_not_be_deleted_can_be_deleted_later(self) -> None:
        store = Records()
        async with serving(ours(), session_store=store) as site:
            session = await site.initialize()
            store.fails = True
            assert (await session.delete()).status_code == 500
            store.fails = False
            assert (await session.delete()).status_code == 204
            assert store.kept == {}


class TestFailingEvents:
    """Who is connected is served, also while nothing can be kept for later."""

    async def test_all_sessions_end_whose_events_cannot_be_deleted(self) -> None:
        store, server = FailingEvents(), ours()
        async with serving(server, events=store) as site:
            one, two = await site.initialize(), await site.initialize()
            async with one.get() as first, two.get() as second:
                assert await first.event() is not None
                assert await second.event() is not None
                store.fails = True
                await site.app.close()
                assert [await first.all(), await second.all()] == [[], []]
            assert not server.sessions

    async def test_a_stream_brings_what_cannot_be_kept(self) -> None:
        store, server = FailingEvents(), ours()
        async with serving(server, events=store) as site:
            session = await site.initialize()
            async with session.get() as events:
                assert await events.event() is not None
                store.fails = True
                await server.tools_list_changed()
                # Without an id: nobody could come back to it.
                event = await next_said(events)
                assert (event.message["method"], event.id) == (CHANGED, None)

    async def test_a_stream_has_ids_again_once_events_can_be_kept(self) -> None:
        store, server = FailingEvents(), ours()
        async with serving(server, events=store) as site:
            session = await site.initialize()
            async with session.get() as events:
                assert await events.event() is not None
                store.fails = True
                await server.tools_list_changed()
                await next_said(events)
                store.fails = False
                await server.tools_list_changed()
                last = await next_said(events)
            async with session.get(last.id) as events:
                assert events.response.status_code == 200
                await server.tools_list_changed()
                assert (await next_said(events)).message["method"] == CHANGED

    async def test_an_answer_comes_though_its_events_cannot_be_kept(self) -> None:
        store = FailingEvents()
        async with serving(ours(), events=store) as site:
            session = await site.initialize()
            store.fails = True
            async with session.calling("x", 7, **PROGRESS) as events:
                said = [event.message.get("id") for event in await events.all() if event.data]
            assert said == [None, None, 7]


class TestMovedStreams:
    """The stream of a session goes on wherever its client comes back."""

    async def test_another_process_goes_on_with_it(self) -> None:
        chosen = {"session_store": Records(), "events": pkg.MemoryEventStore()}
        one, two = ours(), ours()
        async with serving(one, **chosen) as first, serving(two, **chosen) as second:
            session = await first.initialize()
            async with session.get() as events:
                await one.tools_list_changed()
                last = (await next_said(events)).id
            session.site = second
            async with session.get(last) as events:
                # The first event is there once the client is listened to.
                assert await events.event() is not None
                await two.tools_list_changed()
                assert (await next_said(events)).message["method"] == CHANGED

    async def test_another_process_sends_what_was_missed_before_it_goes_on(self) -> None:
        chosen = {"session_store": Records(), "events": pkg.MemoryEventStore()}
        one, two = ours(), ours()
        async with serving(one, **chosen) as first, serving(two, **chosen) as second:
            session = await first.initialize()
            async with session.get() as events:
                begun = await events.event()
                assert begun is not None
                await one.tools_list_changed()
                missed = await next_said(events)
            session.site = second
            async with session.get(begun.id) as events:
                assert (await next_said(events)).id == missed.id
                # It is listened to once there is an event of this process.
                here = await events.event()
                assert here is not None
                await two.tools_list_changed()
                assert (await next_said(events)).id not in (missed.id, None)

    async def test_who_moved_can_come_back_to_the_process_it_came_to(self) -> None:
        chosen = {"session_store": Records(), "events": pkg.MemoryEventStore()}
        one, two = ours(), ours()
        async with serving(one, **chosen) as first, serving(two, **chosen) as second:
            session = await first.initialize()
            async with session.get() as events:
                await one.tools_list_changed()
                last = (await next_said(events)).id
            session.site = second
            async with session.get(last) as events:
                assert await events.event() is not None
                await two.tools_list_changed()
                last = (await next_said(events)).id
            async with session.get(last) as events:
                await two.tools_list_changed()
                assert (await next_said(events)).message["method"] == CHANGED

    async def test_a_session_that_had_to_make_room_goes_on_with_it(self) -> None:
        chosen = {"session_store": Records(), "events": pkg.MemoryEventStore()}
        server = ours()
        async with serving(server, **chosen, max_sessions=1) as site:
            session = await site.initialize()
            async with session.get() as events:
                await server.tools_list_changed()
                last = (await next_said(events)).id
            while True:
                # Not before the server has noticed that its client has left.
                try:
                    await site.initialize()
                    break
                except AssertionError:
                    await asyncio.sleep(0.005)
            async with session.get(last) as events:
                assert await events.event() is not None
                await server.tools_list_changed()
                assert (await next_said(events)).message["method"] == CHANGED
