"""Sessions that several applications serve, on one engine: whichever is asked, nothing is lost."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import pytest
from mcp_protogen.runtime.features.sharing.worker_messages import ClientSent
from mcp_protogen.runtime.http.server.scope_check import ScopeCheck
from mcp_protogen.runtime.http.server.sessions.worker import key_of
from mcp_protogen.runtime.storage.engine import GAP, Change, DirectMessage
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingMessage,
    TextContent,
)
from support.http import serving as http
from support.http.fire import until
from support.http.serving import Site, outcome, text_in
from support.json_types import JsonObject
from support.revisions import HANDSHAKE, OLD
from support.sessions.talking import (
    INITIALIZED,
    entry,
    hello,
    models,
    notification,
    pkg,
    request,
    server,
    tools,
    whose,
)
from support.sharing.faults import Engine, at, workers
from support.tables import case

UPDATED = "notifications/resources/updated"
TOLD = frozenset({UPDATED, "notifications/message"})
URI = "file:///a"


async def post_status(session: http.Session, message: object) -> int:
    return (await session.post(message)).status_code


async def post_until_accepted(session: http.Session, message: object) -> int:
    """Post a message until it is not refused for now; return the status."""
    while (status := await post_status(session, message)) == 503:
        await asyncio.sleep(0.02)
    return status


async def copies_at(session: http.Session, *sites: Site) -> list[http.Session]:
    """A session at each of these workers, which have a copy of it from now on."""
    sessions = [at(session, site) for site in sites]
    for copy in sessions:
        assert outcome(await copy.post(request("ping"))) == (200, None)
    return sessions


@asynccontextmanager
async def asking(site: Site) -> AsyncGenerator[tuple[http.Session, http.Events, Any], None]:
    """A new session whose client was asked something during a call, and the question."""
    session = await site.initialize(sampling={})
    async with session.calling("asks") as events:
        yield session, events, await events.take()


class Tools:
    """Tools that ask, log, tell, or wait until the test lets them go on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.progress: list[float] = []

    async def __call__(self, session: Session, params: CallToolRequestParams) -> str:
        if params.name == "who":
            return str(whose(session))
        if params.name == "waits":
            await self._wait()
        elif params.name.startswith("asks"):
            return await self._ask(session, params.name)
        elif params.name == "logs":
            await session.log("info", "low")
            await session.log("error", "high")
        return params.name

    async def _wait(self) -> None:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def _ask(self, session: Session, name: str) -> str:
        message = SamplingMessage(role="user", content=TextContent(text=name))
        question = CreateMessageRequestParams(messages=[message], max_tokens=1)
        try:
            said = await session.request(
                entry(session, "sampling/createMessage"),
                question,
                on_progress=lambda one: self.progress.append(one.done),
            )
        except pkg.ProtocolError as error:
            return type(error).__name__
        assert isinstance(said, CreateMessageResult) and isinstance(said.content, TextContent)
        return f"{name}: {said.content.text}"


def ours(call: Any = None, revision: str = OLD, **members: Any) -> Any:
    return tools(revision, call or Tools(), SENDS=TOLD, **members)


def sampling_answer(question: JsonObject, text: str) -> JsonObject:
    """The client's answer to a request for sampling."""
    message = {"role": "assistant", "content": {"type": "text", "text": text}, "model": "m"}
    return {"jsonrpc": "2.0", "id": question["id"], "result": message}


def text_of_answer(answer: JsonObject) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text


async def log_lines(session: http.Session) -> list[str]:
    """What reaches a client of what a tool logs."""
    async with session.calling("logs") as events:
        said = [event.message for event in await events.all() if event.data]
    return [message["params"]["data"] for message in said[:-1]]


class TestAnswers:
    async def test_each_reaches_the_handler_that_asked_wherever_it_is_posted(self) -> None:
        async with workers(ours(), ours()) as (one, two):
            first = await one.initialize(sampling={})
            second = at(first, two)
            async with (
                first.calling("asks a", 1) as of_one,
                second.calling("asks b", 2) as of_two,
            ):
                questions = [await of_one.take(), await of_two.take()]
                ids = {question["id"] for question in questions}
                # Some clients turn numeric strings into numbers.
                assert len(ids) == 2 and all(id[0].isalpha() and len(id) < 16 for id in ids)
                assert ids == {
                    question["params"]["_meta"]["progressToken"] for question in questions
                }
                # Each answer goes to the other worker.
                for session, question, text in (
                    (first, questions[1], "for b"),
                    (second, questions[0], "for a"),
                ):
                    assert await post_status(session, sampling_answer(question, text)) == 202
                answers = [await of_one.take(), await of_two.take()]
            assert list(map(text_of_answer, answers)) == ["asks a: for a", "asks b: for b"]

    async def test_errors_and_what_is_no_answer_reach_it_too(self) -> None:
        wrong: dict[str, JsonObject] = {
            "McpError": {"error": {"code": 1, "message": "no"}},
            "InvalidAnswer": {"result": {}, "error": {"code": 1, "message": "no"}},
        }
        async with workers(ours(), ours()) as (one, two):
            first = await one.initialize(sampling={})
            for name, members in wrong.items():
                with case(name):
                    async with first.calling("asks") as events:
                        question = await events.take()
                        answer = {"jsonrpc": "2.0", "id": question["id"], **members}
                        assert await post_status(at(first, two), answer) == 202
                        assert text_of_answer(await events.take()) == name

    async def test_answers_in_a_batch_reach_those_who_asked(self) -> None:
        async with workers(ours(), ours(), revisions=pkg.REVISIONS) as (one, two):
            first = await one.initialize("2025-03-26", sampling={})
            second = at(first, two)
            async with (
                first.calling("asks a", 1) as of_one,
                second.calling("asks b", 2) as of_two,
            ):
                batch = [sampling_answer(await events.take(), "yes") for events in (of_one, of_two)]
                assert await post_status(second, batch) == 202
                answers = [await of_one.take(), await of_two.take()]
            assert list(map(text_of_answer, answers)) == ["asks a: yes", "asks b: yes"]

    async def test_progress_is_reported_to_who_asked(self) -> None:
        call = Tools()
        async with (
            workers(ours(call), ours()) as (one, two),
            asking(one) as (first, events, question),
        ):
            token = question["params"]["_meta"]["progressToken"]
            report = notification("notifications/progress", progressToken=token, progress=0.5)
            assert await post_status(at(first, two), report) == 202
            assert call.progress == [0.5]
            assert await post_status(at(first, two), sampling_answer(question, "yes")) == 202
            await events.all()

    async def test_answer_for_dead_worker_is_dropped(self) -> None:
        engine = Engine()
        async with (
            workers(ours(), ours(), engine=engine) as (one, two),
            asking(one) as (first, _, question),
        ):
            engine.workers[0].kill()
            assert await post_status(at(first, two), sampling_answer(question, "yes")) == 202

    async def test_answer_for_paused_worker_waits_for_its_return(self) -> None:
        engine = Engine()
        async with (
            workers(ours(), ours(), engine=engine) as (one, two),
            asking(one) as (first, events, question),
        ):
            engine.workers[0].kill()
            assert await post_status(at(first, two), sampling_answer(question, "yes")) == 202
            assert await post_status(at(first, two), sampling_answer(question, "again")) == 202
            # What it finds cannot be read at first.
            engine.failing.add("events.read")
            engine.workers[0].revive()
            await until(lambda: "events.read" in engine.calls)
            engine.failing.clear()
            assert text_of_answer(await events.take()) == "asks: yes"

    async def test_first_acknowledged_answer_wins_over_all_that_come_after_a_gap(self) -> None:
        for name, second in (("to who asked", 0), ("to another worker", 2)):
            for notices in (True, False):
                with case(f"{name}, which {'knows' if notices else 'does not know'} of the gap"):
                    engine = Engine()
                    async with (
                        workers(ours(), ours(), ours(), engine=engine) as sites,
                        asking(sites[0]) as (first, events, question),
                    ):
                        late = engine.workers[0]
                        late.kill()
                        assert (
                            await post_status(
                                at(first, sites[1]), sampling_answer(question, "first")
                            )
                            == 202
                        )
                        late.revive(notices=notices)
                        assert (
                            await post_status(
                                at(first, sites[second]), sampling_answer(question, "no")
                            )
                            == 202
                        )
                        late.receive(GAP)
                        assert text_of_answer(await events.take()) == "asks: first"

    async def test_answer_that_waits_for_a_check_comes_after_the_one_that_was_stored(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine, begun, go = Engine(), asyncio.Event(), asyncio.Event()

        def asks(*_: object) -> bool:
            return True

        async def check(*_: object) -> None:
            begun.set()
            await go.wait()

        async with (
            workers(ours(), ours(), engine=engine) as (one, two),
            asking(one) as (first, events, question),
        ):
            monkeypatch.setattr(ScopeCheck, "asks", asks)
            monkeypatch.setattr(ScopeCheck, "check", check)
            second = asyncio.create_task(post_status(first, sampling_answer(question, "no")))
            await begun.wait()
            monkeypatch.undo()
            engine.workers[0].kill()
            assert await post_status(at(first, two), sampling_answer(question, "first")) == 202
            engine.workers[0].revive()
            go.set()
            assert await second == 202
            assert text_of_answer(await events.take()) == "asks: first"

    async def test_stored_progress_comes_before_what_is_posted_after_a_gap(self) -> None:
        call, engine = Tools(), Engine()
        async with (
            workers(ours(call), ours(), engine=engine) as (one, two),
            asking(one) as (first, events, question),
        ):
            token = question["params"]["_meta"]["progressToken"]

            def report(done: float) -> JsonObject:
                return notification("notifications/progress", progressToken=token, progress=done)

            engine.workers[0].kill()
            for done in (0.25, 0.5):
                assert await post_status(at(first, two), report(done)) == 202
            engine.workers[0].revive(notices=False)
            assert await post_status(first, report(0.75)) == 202
            assert await post_status(first, sampling_answer(question, "yes")) == 202
            await events.all()
            assert call.progress == [0.25, 0.5, 0.75]

    async def test_stored_messages_are_read_once_and_some_may_be_gone(self) -> None:
        engine = Engine()
        engine.memory = pkg.MemoryEngine(max_events=3)
        async with (
            workers(ours(), ours(), engine=engine) as (one, two),
            asking(one) as (first, events, question),
        ):
            token = question["params"]["_meta"]["progressToken"]
            report = notification("notifications/progress", progressToken=token, progress=0.5)
            for times, last in ((2, report), (6, sampling_answer(question, "yes"))):
                engine.workers[0].kill()
                for message in (*[report] * times, last):
                    assert await post_status(at(first, two), message) == 202
                engine.workers[0].revive()
                assert outcome(await first.post(request("ping", 9))) == (200, None)
            assert text_of_answer(await events.take()) == "asks: yes"

    async def test_answer_that_was_not_taken_can_be_posted_again(self) -> None:
        engine = Engine()
        async with (
            workers(ours(), ours(), engine=engine, lease=0.1) as (one, two),
            asking(one) as (first, events, question),
        ):
            engine.workers[0].deaf = True
            refused = await at(first, two).post(sampling_answer(question, "yes"))
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            engine.workers[0].deaf = False
            assert (
                await post_until_accepted(at(first, two), sampling_answer(question, "yes")) == 202
            )
            assert text_of_answer(await events.take()) == "asks: yes"

    async def test_a_message_that_is_lost_is_sent_once_more(self) -> None:
        engine = Engine()
        async with (
            workers(ours(), ours(), engine=engine, lease=2.0) as (one, two),
            asking(one) as (first, events, question),
        ):
            engine.workers[0].deaf = True
            sent = len(engine.mailed)
            answering = asyncio.create_task(
                post_status(at(first, two), sampling_answer(question, "yes"))
            )
            await until(lambda: len(engine.mailed) > sent)
            engine.workers[0].deaf = False
            assert await answering == 202
            assert text_of_answer(await events.take()) == "asks: yes"

    async def test_answer_of_other_session_is_dropped(self) -> None:
        async with workers(ours(), ours()) as (one, two):
            first, other = await one.initialize(sampling={}), await two.initialize(sampling={})
            async with first.calling("asks") as events:
                question = await events.take()
                for session in (other, at(other, one)):
                    assert await post_status(session, sampling_answer(question, "forged")) == 202
                assert await post_status(first, sampling_answer(question, "yes")) == 202
                assert text_of_answer(await events.take()) == "asks: yes"

    async def test_forged_answer_of_other_client_is_dropped(self) -> None:
        engine = Engine()
        async with (
            workers(ours(), engine=engine) as (one,),
            asking(one) as (first, events, question),
        ):
            text = json.dumps(sampling_answer(question, "forged"))
            key, name = key_of(first.id), engine.workers[0].name
            forged = (key, "eve"), ("x" * 43, None)
            for number, (session, id) in enumerate(forged):
                message = asdict(ClientSent(session=session, principal_id=id, message=text))
                content = json.dumps({"sender": "seve", "message": message, "number": number})
                await engine.workers[0].mail.send([(name, content.encode())])
            assert await post_status(first, sampling_answer(question, "yes")) == 202
            assert text_of_answer(await events.take()) == "asks: yes"

    async def test_messages_that_make_no_sense_change_nothing(self) -> None:
        engine = Engine()
        messages = [
            b"",
            b"\xff",
            b"[]",
            b"{}",
            b'{"sender": "s", "message": {"kind": "x"}}',
            b'{"sender": 1, "message": {"kind": "changed", "session": "k"}}',
            b'{"sender": "s", "message": {"kind": "changed", "session": 1}}',
            b'{"sender": "s", "message": {"kind": "acknowledged", "number": 99}}',
            b'{"sender": "s", "message": {"kind": "sent", "session": "k",'
            b' "principal_id": null, "message": "{"}}',
        ]
        async with workers(ours(), engine=engine) as (one,):
            session = await one.initialize()
            name = engine.workers[0].name
            await engine.workers[0].mail.send([(name, message) for message in messages])
            assert text_in(await session.call("who")) == "None"


class TestNotifications:
    async def test_a_cancellation_ends_the_handler_at_another_worker(self) -> None:
        call = Tools()
        async with workers(ours(call), ours()) as (one, two):
            session = await one.initialize()
            calling = asyncio.create_task(session.call("waits", 7))
            await call.begun.wait()
            cancel = notification("notifications/cancelled", requestId=7)
            assert await post_status(at(session, two), cancel) == 202
            assert call.cancelled.is_set()
            assert "result" not in (await calling).text

    async def test_a_cancellation_is_there_when_a_worker_is_back_that_only_seemed_gone(
        self,
    ) -> None:
        call, engine = Tools(), Engine()
        async with workers(ours(call), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            calling = asyncio.create_task(session.call("waits", 7))
            await call.begun.wait()
            engine.workers[0].kill()
            cancel = notification("notifications/cancelled", requestId=7)
            assert await post_status(at(session, two), cancel) == 202
            engine.workers[0].revive()
            assert "result" not in (await calling).text
            assert call.cancelled.is_set()

    async def test_stored_cancellation_frees_its_id_before_what_is_posted_after_a_gap(self) -> None:
        call, engine = Tools(), Engine()
        async with workers(ours(call), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            calling = asyncio.create_task(session.call("waits", 7))
            await call.begun.wait()
            engine.workers[0].kill()
            cancel = notification("notifications/cancelled", requestId=7)
            assert await post_status(at(session, two), cancel) == 202
            engine.workers[0].revive(notices=False)
            assert text_in(await session.call("who", 7)) == "None"
            assert "result" not in (await calling).text
            assert call.cancelled.is_set()

    async def test_a_cancellation_of_what_is_here_is_nobody_elses_business(self) -> None:
        call, engine = Tools(), Engine()
        async with workers(ours(call), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            await copies_at(session, two)
            calling = asyncio.create_task(session.call("waits", 7))
            await call.begun.wait()
            engine.calls.clear()
            cancel = notification("notifications/cancelled", requestId=7)
            assert await post_status(session, cancel) == 202
            await calling
            assert engine.calls == []

    async def test_all_who_have_a_copy_hear_of_changed_roots(self) -> None:
        heard: list[str] = []

        def listening(name: str) -> Any:
            async def on_roots_list_changed(self: object, session: Session, params: object) -> None:
                heard.append(name)

            return ours(on_roots_list_changed=on_roots_list_changed)

        async with workers(*map(listening, "abc")) as (one, two, three):
            session = await one.initialize(roots={"listChanged": True})
            _, second = await copies_at(session, one, two)
            changed = notification("notifications/roots/list_changed")
            assert await post_status(second, changed) == 202
            await until(lambda: len(heard) == 2)
            assert sorted(heard) == ["a", "b"]
            assert await post_status(at(session, three), changed) == 202
            await until(lambda: len(heard) == 5)

    async def test_unhandled_notification_is_not_forwarded(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            await copies_at(session, two)
            engine.calls.clear()
            for method in ("notifications/roots/list_changed", "notifications/unheard_of"):
                assert await post_status(session, notification(method)) == 202
            assert engine.calls == []

    async def test_notification_with_lost_acknowledgement_is_handled_once(self) -> None:
        heard: list[object] = []

        async def on_roots_list_changed(self: object, session: Session, params: object) -> None:
            heard.append(params)
            # Its acknowledgement cannot be sent, but that of the same message later on can.
            if len(heard) == 1:
                engine.failing.add("mail.send")
                asyncio.get_running_loop().call_later(0.02, engine.failing.clear)

        engine = Engine()
        both = [ours(on_roots_list_changed=on_roots_list_changed) for _ in range(2)]
        async with workers(*both, engine=engine, lease=2.0) as (one, two):
            session = await one.initialize(roots={"listChanged": True})
            await copies_at(session, two)
            changed = notification("notifications/roots/list_changed")
            assert await post_status(session, changed) == 202
            # The message, once more, and the acknowledgement of that.
            assert len(engine.mailed) == 3
            assert len(heard) == 2

    async def test_answers_do_not_wait_until_all_know_of_one(self) -> None:
        async def on_roots_list_changed(self: object, session: Session, params: object) -> None:
            pass

        engine, listening = Engine(), ours(on_roots_list_changed=on_roots_list_changed)
        async with workers(listening, ours(), engine=engine, lease=2.0) as (one, two):
            session = await one.initialize(roots={"listChanged": True})
            await copies_at(session, two)
            engine.workers[1].deaf = True
            changed = notification("notifications/roots/list_changed")
            telling = asyncio.create_task(post_status(session, changed))
            await until(lambda: bool(engine.mailed))
            assert outcome(await session.post(request("ping"))) == (200, None)
            assert not telling.done()
            engine.workers[1].deaf = False
            assert await telling == 202

    async def test_those_of_a_batch_that_is_refused_are_not_handed_on(self) -> None:
        heard: list[object] = []

        async def on_roots_list_changed(self: object, session: Session, params: object) -> None:
            heard.append(params)

        changed = notification("notifications/roots/list_changed")
        for revision, batch in (("2025-06-18", [changed]), ("2025-03-26", [changed] * 1001)):
            with case(revision):
                engine = Engine()
                both = [ours(on_roots_list_changed=on_roots_list_changed) for _ in range(2)]
                async with workers(*both, engine=engine, revisions=pkg.REVISIONS) as (one, two):
                    session = await one.initialize(revision, roots={"listChanged": True})
                    await copies_at(session, two)
                    engine.calls.clear()
                    assert await post_status(session, batch) == 400
                    assert (engine.calls, heard) == ([], [])

    async def test_a_handshake_may_be_completed_at_another_worker(self) -> None:
        confirmed: list[str] = []

        def listening(name: str) -> Any:
            async def on_initialized(self: object, session: Session, params: object) -> None:
                confirmed.append(name)

            return ours(on_initialized=on_initialized)

        servers = listening("a"), listening("b")
        async with workers(*servers) as (one, two):
            begun = await one.post(hello())
            session = http.Session(one, OLD, begun.headers["mcp-session-id"], {})
            session.headers = {"mcp-session-id": session.id}
            (first,) = servers[0].sessions
            assert await post_status(at(session, two), request("ping")) == 200
            (copy,) = two.app._running.state.sessions
            assert not copy.choices.confirmed
            assert await post_status(at(session, two), INITIALIZED) == 202
            assert copy.choices.confirmed
            # It is known where it began, and delayed events go out.
            async with session.get() as events:
                await servers[1].resource_updated(URI)
                await servers[0].tools_list_changed()
                await first.log("info", "hi")
                assert (await events.take())["params"]["data"] == "hi"
            assert confirmed == ["b"]


class TestChoices:
    async def test_answered_setting_applies_at_every_worker(self) -> None:
        async with workers(ours(), ours(), ours()) as sites:
            session = await sites[0].initialize()
            sessions = await copies_at(session, *sites)
            for number, level in enumerate(["error", "debug", "emergency", "info", "error"]):
                chosen = request("logging/setLevel", level=level)
                assert outcome(await sessions[number % 3].post(chosen)) == (200, None)
                expected = {"error": ["high"], "emergency": []}.get(level, ["low", "high"])
                for copy in sessions:
                    assert await log_lines(copy) == expected

    async def test_changes_at_several_workers_are_all_kept(self) -> None:
        engine, servers = Engine(), [ours(), ours(), ours()]
        async with workers(*servers, engine=engine) as sites:
            session = await sites[0].initialize()
            sessions = await copies_at(session, *sites)
            messages = [
                request("logging/setLevel", 1, level="error"),
                *(request("resources/subscribe", n, uri=f"file:///{n}") for n in range(2, 20)),
            ]
            outcomes = await asyncio.gather(
                *(sessions[number % 3].post(message) for number, message in enumerate(messages))
            )
            assert set(map(outcome, outcomes)) == {(200, None)}
            removals = [
                sessions[n % 3].post(request("resources/unsubscribe", n, uri=f"file:///{n}"))
                for n in range(10, 20)
            ]
            assert set(map(outcome, await asyncio.gather(*removals))) == {(200, None)}
            for copy in sessions:
                assert await log_lines(copy) == ["high"]
            subscriptions = (await session_record(engine, session))["subscriptions"]
            assert sorted(subscriptions) == sorted(f"file:///{n}" for n in range(2, 10))

    async def test_a_change_is_answered_once_all_who_have_a_copy_know(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            await copies_at(session, two)
            reading = engine.block("sessions.open")
            chosen = request("logging/setLevel", level="error")
            choosing = asyncio.create_task(session.post(chosen))
            await until(lambda: engine.calls[-1] == "sessions.open")
            await asyncio.sleep(0.02)
            assert not choosing.done()
            reading.set()
            assert outcome(await choosing) == (200, None)

    async def test_who_is_gone_keeps_nobody_waiting(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), ours(), engine=engine) as (one, two, three):
            session = await one.initialize()
            await copies_at(session, two, three)
            engine.workers[1].kill()
            chosen = request("logging/setLevel", level="error")
            assert outcome(await session.post(chosen)) == (200, None)
            assert await log_lines(at(session, three)) == ["high"]

    async def test_who_is_lost_meanwhile_keeps_nobody_waiting_longer_than_a_lease(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine, lease=0.1) as (one, two):
            session = await one.initialize()
            await copies_at(session, two)
            engine.workers[1].deaf = True
            choosing = asyncio.create_task(session.post(request("logging/setLevel", level="error")))
            await until(lambda: engine.calls[-1] == "mail.send")
            engine.workers[1].kill()
            assert outcome(await choosing) == (200, None)

    async def test_a_change_while_another_worker_opens_its_copy_is_not_missed(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            opening = engine.block("sessions.open")
            pinging = asyncio.create_task(post_status(at(session, two), request("ping")))
            await until(lambda: engine.calls[-1] == "sessions.open")
            # It has read the old record, and will learn of the change first.
            chosen = asyncio.create_task(session.post(request("logging/setLevel", level="error")))
            await until(lambda: "mail.send" in engine.calls)
            opening.set()
            assert await pinging == 200
            assert outcome(await chosen) == (200, None)
            assert await log_lines(at(session, two)) == ["high"]

    async def test_a_subscription_counts_where_the_stream_of_the_session_is(self) -> None:
        servers = [ours(), ours(), ours()]
        async with workers(*servers) as sites:
            session = await sites[0].initialize()
            sessions = await copies_at(session, *sites)
            async with sessions[1].get() as events:
                # Once it listens, published changes are sent there.
                await until(lambda: servers[1].sessions)
                subscribe = request("resources/subscribe", uri=URI)
                assert outcome(await sessions[2].post(subscribe)) == (200, None)
                for server in servers:
                    await server.resource_updated("file:///other")
                    await server.resource_updated(URI)
                    assert (await events.take())["params"] == {"uri": URI}
                unsubscribe = request("resources/unsubscribe", uri=URI)
                assert outcome(await sessions[0].post(unsubscribe)) == (200, None)
                for server in servers:
                    await server.resource_updated(URI)
                assert await events.is_silent()

    async def test_reading_does_not_undo_setting_being_saved(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine, lease=2.0) as (one, two):
            session = await one.initialize()
            (second,) = await copies_at(session, two)
            saving = engine.block("sessions.save")
            engine.calls.clear()
            choosing = [
                asyncio.create_task(copy.post(message))
                for copy, message in (
                    (session, request("logging/setLevel", 5, level="error")),
                    (second, request("resources/subscribe", 6, uri=URI)),
                )
            ]
            await until(lambda: engine.calls.count("sessions.save") == 2)
            engine.lose()
            saving.set()
            assert [outcome(await task) for task in choosing] == [(200, None)] * 2
            for copy in (session, second):
                assert await log_lines(copy) == ["high"]
            assert (await session_record(engine, session))["subscriptions"] == [URI]

    async def test_a_choice_that_is_made_again_is_made_known(self) -> None:
        for held in ("sessions.save", "mail.send"):
            for again in (0, 1):
                with case((held, again)):
                    await self._choose_again(held, again)

    async def _choose_again(self, call: str, again: int) -> None:
        engine = Engine()
        async with workers(ours(), ours(), ours(), engine=engine) as sites:
            session = await sites[0].initialize()
            # The first worker would tell the last one when it is asked again.
            sessions = [*await copies_at(session, sites[2]), session]
            answering = engine.block(call)
            chosen = request("logging/setLevel", level="error")
            choosing = asyncio.create_task(post_status(session, chosen))
            await until(lambda: engine.calls[-1] == call)
            # It is made, and the answer is lost; of messages, nothing arrives.
            engine.workers[2].deaf = True
            engine.away = engine.keeps_leases = True
            answering.set()
            del engine.held[call]
            assert await choosing == 503
            engine.away = engine.workers[2].deaf = False
            assert outcome(await at(session, sites[again]).post(chosen)) == (200, None)
            assert [await log_lines(copy) for copy in sessions] == [["high"]] * 2

    async def test_a_stream_learns_of_a_choice_that_could_not_be_read_at_once(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            (second,) = await copies_at(session, two)
            async with session.get() as events:
                engine.failing.add("sessions.open")
                engine.calls.clear()
                subscribing = asyncio.create_task(
                    second.post(request("resources/subscribe", 6, uri=URI))
                )
                await until(lambda: "sessions.open" in engine.calls)
                engine.failing.clear()
                assert outcome(await subscribing) == (200, None)
                (stub,) = two.app._servers
                await stub.resource_updated(URI)
                assert (await events.take())["method"] == UPDATED


class TestCopies:
    async def test_a_plain_call_asks_nothing_of_the_engine(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as sites:
            session = await sites[0].initialize()
            sessions = await copies_at(session, *sites)
            engine.calls.clear()
            for copy in sessions:
                assert text_in(await copy.call("who")) == "None"
                assert outcome(await copy.post(request("ping"))) == (200, None)
            assert engine.calls == []

    async def test_after_a_gap_a_copy_is_read_again_before_its_next_use(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine, lease=0.05) as (one, two):
            session = await one.initialize()
            (second,) = await copies_at(session, two)
            engine.workers[1].deaf = True
            chosen = request("logging/setLevel", level="error")
            assert outcome(await session.post(chosen)) == (200, None)
            engine.workers[1].deaf = False
            engine.workers[1].receive(GAP)
            engine.calls.clear()
            assert await log_lines(second) == ["high"]
            assert engine.calls.count("sessions.open") == 1

    async def test_a_worker_whose_lease_has_lapsed_trusts_no_copy(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine, lease=0.05) as (one, two):
            session = await one.initialize()
            (second,) = await copies_at(session, two)
            engine.workers[1].lapsed = engine.workers[1].deaf = True
            assert outcome(await session.post(request("logging/setLevel", level="error"))) == (
                200,
                None,
            )
            assert await log_lines(second) == ["high"]

    async def test_after_many_gaps_a_copy_is_read_as_of_the_last(self) -> None:
        engine = Engine()
        async with workers(ours(), engine=engine) as (one,):
            session = await one.initialize()
            async with session.get():
                reading = engine.block("sessions.open")
                engine.calls.clear()
                for _ in range(20):
                    engine.lose()
                    await asyncio.sleep(0)
                reading.set()
                assert outcome(await session.post(request("ping"))) == (200, None)
                assert engine.calls.count("sessions.open") <= 2

    async def test_streams_end_at_once_that_a_gap_has_hidden_the_end_of(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine, lease=0.05) as (one, two):
            session = await one.initialize()
            async with session.get() as events:
                engine.workers[0].deaf = True
                assert (await at(session, two).delete()).status_code == 204
                engine.workers[0].receive(GAP)
                assert await events.take() is None

    async def test_a_session_goes_on_in_its_revision_at_any_worker(self) -> None:
        for revision in HANDSHAKE[1:]:
            with case(revision):
                async with workers(ours(), ours(), revisions=pkg.REVISIONS) as (one, two):
                    session = await one.initialize(revision)
                    assert text_in(await at(session, two).call("who")) == "None"
                    wrong = {"mcp-protocol-version": "2024-11-05"}
                    refused = await at(session, two).post(request("ping"), wrong)
                    assert refused.status_code == 400

    async def test_client_declaration_is_known_at_every_worker(self) -> None:
        async with workers(ours(), ours()) as (one, two):
            session = await one.initialize(sampling={})
            async with at(session, two).calling("asks") as events:
                assert (await events.take())["method"] == "sampling/createMessage"

    async def test_a_worker_that_does_not_speak_its_revision_does_not_serve_it(self) -> None:
        engine = Engine()
        async with (
            workers(ours(), engine=engine) as (one,),
            workers(ours(revision="2025-06-18"), engine=engine) as (two,),
        ):
            session = await one.initialize()
            other = at(session, two)
            other.headers = {"mcp-session-id": session.id}
            assert await post_status(other, request("ping")) == 404
            assert await post_status(session, request("ping")) == 200

    async def test_a_copy_that_has_to_make_room_goes_on_when_it_is_asked_for(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine, max_sessions=1) as (one, two):
            first = await one.initialize()
            assert outcome(await first.post(request("logging/setLevel", level="error")))[0] == 200
            second = await one.initialize()
            for session in (first, second, first):
                assert outcome(await session.post(request("ping"))) == (200, None)
            assert await log_lines(first) == ["high"]
            # It also hears again of changes elsewhere.
            chosen = request("logging/setLevel", level="emergency")
            assert outcome(await at(first, two).post(chosen)) == (200, None)
            assert await log_lines(first) == []

    async def test_copy_that_made_room_writes_nothing_more(self) -> None:
        engine = Engine()
        async with workers(ours(), engine=engine, max_sessions=1) as (one,):
            await one.initialize()
            (before,) = one.app._running.state.sessions
            await one.initialize()
            await until(lambda: "sessions.leave" in engine.calls)
            engine.calls.clear()
            before.connection.level = "emergency"
            assert before.changed
            await before.connection.save()
            assert engine.calls == []

    async def test_copy_that_is_read_again_switches_only_what_was_switched_elsewhere(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine, switched = Engine(), list[object]()

        def resume(_: object, connection: object, switches: object) -> None:
            switched.append(switches)

        async with workers(ours(), engine=engine) as (one,):
            session = await one.initialize()
            (own,) = one.app._running.state.sessions
            kind: Any = own.connection.server.__mcp_runtime__.__class__
            monkeypatch.setattr(kind, "resume", resume)
            engine.lose()
            assert outcome(await session.post(request("ping"))) == (200, None)
            assert switched == []
            await rewrite(engine, session, switched=[["", "a", False, False]])
            engine.lose()
            await session.post(request("ping"))
            assert switched[0] == (("", "a", False, False),)

    async def test_session_evicted_during_reload_stays_away(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine, max_sessions=1) as (one, two):
            session = await one.initialize()
            await copies_at(session, two)
            reading = engine.block("sessions.open")
            choosing = asyncio.create_task(session.post(request("logging/setLevel", level="error")))
            engine.calls.clear()
            await until(lambda: "sessions.open" in engine.calls)
            other = await two.initialize()
            reading.set()
            assert outcome(await choosing) == (200, None)
            assert [stored.id for stored in two.app._running.state.sessions] == [other.id]

    async def test_each_worker_has_a_server_of_its_own_where_each_session_has(self) -> None:
        async def count(self: Any, session: Session, params: CallToolRequestParams) -> object:
            m = models(OLD)
            self.calls = getattr(self, "calls", 0) + 1
            return m.CallToolResult(content=[m.TextContent(text=str(self.calls))])

        one_of_each = type(server(OLD, on_call_tool=count))
        async with workers(one_of_each, one_of_each) as (one, two):
            session = await one.initialize()
            calls = [text_in(await at(session, site).call("x")) for site in (one, two, one, two)]
            assert calls == ["1", "1", "2", "2"]


class TestWhoseItIs:
    async def test_session_belongs_to_its_client_at_every_worker(self) -> None:
        verify = pkg.static_tokens({"a" * 16: pkg.Principal("ada"), "b" * 16: pkg.Principal("ben")})
        guarded = pkg.Authentication(verify=verify)
        ben = {"authorization": f"Bearer {'b' * 16}"}
        async with workers(ours(), ours(), authentication=guarded) as (one, two):
            session = await one.initialize(headers={"authorization": f"Bearer {'a' * 16}"})
            second = at(session, two)
            for _ in range(2):
                # The second time, there is a copy.
                assert (await second.post(request("ping"), ben)).status_code == 404
                assert (await second.delete(ben)).status_code == 404
                async with second.get(headers=ben) as events:
                    assert events.response.status_code == 404
                assert text_in(await second.call("who")) == "ada"

    async def test_session_with_changed_owner_is_not_served(self) -> None:
        engine = Engine()
        async with workers(ours(), engine=engine) as (one,):
            session = await one.initialize()
            await rewrite(engine, session, principal_id="eve")
            engine.lose()
            assert await post_status(session, request("ping")) == 404

    async def test_records_that_make_no_sense_are_unknown(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        wrong: list[JsonObject] = [
            {"level": "loud"},
            {"revision": 1},
            {"revision": "1999-01-01"},
            {"capabilities": []},
            {"subscriptions": "file:///a"},
            {"subscriptions": [f"file:///{n}" for n in range(2000)]},
            {"confirmed": "yes"},
            {"capabilities": None},
            {"switched": [["x"]]},
            {"switched": [[1, 2, 3, 4]]},
        ]
        texts = [b"", b"{", b"null", b"[]", b"\xff", b"[" * 10_000, b'{"revision": "2025-11-25"}']
        records: list[JsonObject | bytes] = [*wrong, *texts]
        for members in records:
            with case(members):
                engine = Engine()
                async with workers(ours(), ours(), engine=engine) as (one, two):
                    session = await one.initialize()
                    await rewrite(engine, session, members)
                    caplog.clear()
                    assert await post_status(at(session, two), request("ping")) == 404
                    (entry,) = [
                        record for record in caplog.records if record.levelno == logging.WARNING
                    ]
                    assert "is not served" in entry.getMessage()

    async def test_invalid_stored_session_is_logged_without_client_data(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            await rewrite(engine, session, principal_id=["alice"], level="alice")
            assert await post_status(at(session, two), request("ping")) == 404
            message = {"kind": "sent", "principal_id": "alice", "message": ["alice"]}
            content = json.dumps({"sender": "s", "message": message}).encode()
            change = json.dumps({"method": "alice", "uri": ["alice"]}).encode()
            for wrong in (DirectMessage(content), Change(change)):
                engine.workers[0].receive(wrong)
            assert sum("invalid" in record.getMessage() for record in caplog.records) == 2
            assert "alice" not in caplog.text

    async def test_no_id_reaches_the_engine(self) -> None:
        engine, call = Engine(), Tools()
        async with workers(ours(call), ours(), engine=engine) as (one, two):
            session = await one.initialize(sampling={})
            async with session.calling("asks") as events, at(session, two).get():
                answer = sampling_answer(await events.take(), "yes")
                assert await post_status(at(session, two), answer) == 202
                await events.all()
            for site in (one, two):
                chosen = request("logging/setLevel", level="error")
                assert outcome(await at(session, site).post(chosen))[0] == 200
            assert engine.mailed
            told = b"".join(content for _, content in engine.mailed)
            stored = repr([vars(engine.memory.sessions), vars(engine.memory.events)])
            assert session.id.encode() not in told
            assert session.id not in stored
            assert key_of(session.id) in stored


async def session_record(engine: Engine, session: http.Session) -> JsonObject:
    """The record of a session."""
    found = await engine.memory.sessions.open(key_of(session.id), "sother")
    assert found is not None
    record: JsonObject = json.loads(found.record)
    return record


async def rewrite(
    engine: Engine, session: http.Session, text: bytes | JsonObject = b"", **members: Any
) -> None:
    """Change members of a stored session, or write other bytes in its place."""
    key, sessions = key_of(session.id), engine.memory.sessions
    found = await sessions.open(key, "sother")
    assert found is not None
    if isinstance(text, dict) or members:
        members |= text if isinstance(text, dict) else {}
        text = json.dumps({**json.loads(found.record), **members}).encode()
    assert await sessions.save(key, "sother", text, version=found.version, lifetime=60)


class TestSessionEnd:
    async def test_RJ08_it_is_ended_once_wherever_it_is_asked_for(self) -> None:
        async with workers(ours(), ours()) as sites:
            session = await sites[0].initialize()
            both = await copies_at(session, *sites)
            answers = await asyncio.gather(*(copy.delete() for copy in both))
            assert sorted(answer.status_code for answer in answers) == [204, 404]

    async def test_RJ08_one_that_was_ended_here_is_over_everywhere(self) -> None:
        call = Tools()
        async with workers(ours(call), ours(), ours()) as (one, two, three):
            session = await one.initialize()
            calling = asyncio.create_task(session.call("waits"))
            await call.begun.wait()
            async with session.get() as events:
                assert (await at(session, two).delete()).status_code == 204
                # Before it was answered, what others did for it has ended.
                assert call.cancelled.is_set()
                assert await events.take() is None
            assert "result" not in (await calling).text
            for site in (one, two, three):
                assert await post_status(at(session, site), request("ping")) == 404

    async def test_RJ08_one_whose_end_was_not_answered_is_over_everywhere(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine, lease=0.3) as (one, two):
            session = await one.initialize()
            assert await post_status(at(session, two), request("ping")) == 200
            end = engine.block("sessions.end")
            deleting = asyncio.create_task(at(session, two).delete())
            await until(lambda: engine.calls[-1] == "sessions.end")
            engine.failing.add("sessions.end")
            end.set()
            assert (await deleting).status_code == 503
            assert await post_status(at(session, one), request("ping")) == 200
            engine.failing.clear()
            status = 200
            while status == 200:
                await asyncio.sleep(0.02)
                status = await post_status(at(session, one), request("ping"))
            assert status == 404

    async def test_RJ08_what_is_under_way_does_not_bring_it_back(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            writing = engine.block("sessions.save")
            chosen = request("logging/setLevel", level="error")
            choosing = asyncio.create_task(session.post(chosen))
            await until(lambda: engine.calls[-1] == "sessions.save")
            ending = asyncio.create_task(at(session, two).delete())
            await until(lambda: "sessions.end" in engine.calls)
            writing.set()
            assert (await ending).status_code == 204
            await choosing
            for site in (one, two):
                assert await post_status(at(session, site), request("ping")) == 404

    async def test_RJ08_who_is_reading_it_does_not_bring_it_back(self) -> None:
        engine = Engine()
        async with workers(ours(), engine=engine) as (one,):
            session = await one.initialize()
            sessions = one.app._running.state.sessions
            found = sessions.get(session.id)
            engine.lose()
            reading = engine.block("sessions.open")
            pinging = asyncio.create_task(post_status(session, request("ping")))
            await until(lambda: "sessions.open" in engine.calls)
            ending = asyncio.create_task(sessions.delete(found))
            await asyncio.sleep(0.02)
            reading.set()
            await ending
            await pinging
            assert await post_status(session, request("ping")) == 404

    async def test_a_change_of_one_that_has_ended_elsewhere_is_refused(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine, lease=0.05) as (one, two):
            session = await one.initialize()
            engine.workers[0].deaf = True
            assert (await at(session, two).delete()).status_code == 204
            chosen = request("logging/setLevel", level="error")
            assert (await session.post(chosen)).status_code == 404

    async def test_sessions_go_on_elsewhere_when_a_worker_ends(self) -> None:
        engine = Engine()
        async with workers(ours(), engine=engine) as (two,):
            async with workers(ours(), engine=engine) as (one,):
                session = await one.initialize()
                chosen = request("logging/setLevel", level="error")
                assert outcome(await session.post(chosen)) == (200, None)
                async with session.get() as events:
                    await one.app.close()
                    assert await events.take() is None
            engine.calls.clear()
            assert await log_lines(at(session, two)) == ["high"]
            # The dead worker is not awaited.
            assert outcome(await at(session, two).post(chosen)) == (200, None)
            assert "mail.send" not in engine.calls

    async def test_session_in_use_does_not_expire(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine, session_lifetime=1.0) as (one, two):
            used, idle = await one.initialize(), await one.initialize()
            async with at(used, two).get():
                await until(lambda: engine.calls.count("sessions.refresh") > 5)
                while await post_status(idle, request("tools/list")) != 404:
                    # Each time it is asked for, it lives on.
                    await asyncio.sleep(1.5)
            assert await post_status(used, request("ping")) == 200

    async def test_session_with_running_request_does_not_expire(self) -> None:
        call, engine = Tools(), Engine()
        async with workers(ours(call), engine=engine, session_lifetime=1.0) as (one,):
            session = await one.initialize()
            calling = asyncio.create_task(session.call("waits"))
            await call.begun.wait()
            before = len(engine.calls)
            await until(lambda: engine.calls[before:].count("sessions.refresh") > 5)
            call.go.set()
            assert text_in(await calling) == "waits"

    async def test_session_in_use_elsewhere_stays_alive(self) -> None:
        engine, servers = Engine(), [ours(), ours()]
        async with workers(*servers, engine=engine, session_lifetime=1.0) as (one, two):
            session = await one.initialize()
            async with at(session, two).get():
                await until(lambda: "sessions.leave" in engine.calls)
                assert await post_status(session, request("ping")) == 200

    async def test_request_ends_with_its_lost_session(self) -> None:
        engine = Engine()
        async with workers(ours(), engine=engine) as (one,):
            session = await one.initialize(sampling={})
            async with session.calling("asks") as events:
                await events.take()
                await engine.memory.sessions.end(key_of(session.id), 100)
                engine.failing.add("sessions.open")
                engine.lose()
                await until(lambda: "sessions.open" in engine.calls)
                engine.failing.clear()
                assert await events.take() is None


class TestEngineAway:
    async def test_engine_failure_refuses_dependent_requests_only(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as (one, two):
            session = await one.initialize(sampling={})
            other = await one.initialize()
            (copied,) = await copies_at(session, two)
            engine.away = engine.keeps_leases = True
            refused = [
                await one.post(hello()),
                await session.post(request("logging/setLevel", level="error")),
                await other.delete(),
                await at(other, two).post(request("ping")),
            ]
            for response in refused:
                assert response.status_code == 503
                assert response.headers["retry-after"] == "1"
            assert text_in(await copied.call("who")) == "None"
            engine.away = False

    async def test_failed_broadcast_is_repeated_with_next_answer(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            (second,) = await copies_at(session, two)
            engine.failing.add("mail.send")
            chosen = request("logging/setLevel", level="error")
            assert (await session.post(chosen)).status_code == 503
            # It is stored, but does not apply there yet.
            assert (await session_record(engine, session))["level"] == "error"
            engine.failing.clear()
            assert outcome(await session.post(chosen)) == (200, None)
            assert await log_lines(second) == ["high"]

    async def test_others_hear_of_an_end_that_they_could_not_be_told_of(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            (second,) = await copies_at(session, two)
            engine.failing.add("mail.send")
            assert (await session.delete()).status_code == 503
            engine.failing.clear()
            assert await post_status(session, request("ping")) == 404
            state = two.app._running.state
            await until(lambda: not len(state.sessions))
            assert await post_status(second, request("ping")) == 404

    async def test_session_continues_when_engine_returns(self) -> None:
        engine = Engine()
        async with workers(ours(), ours(), engine=engine) as (one, two):
            session = await one.initialize()
            await copies_at(session, two)
            engine.away = True
            chosen = request("logging/setLevel", level="error")
            assert (await session.post(chosen)).status_code == 503
            assert (await session.post(request("ping"))).status_code == 503
            assert (await session.delete()).status_code == 503
            engine.away = False
            assert outcome(await session.post(chosen)) == (200, None)
            for site in (one, two):
                assert await log_lines(at(session, site)) == ["high"]
            assert (await session.delete()).status_code == 204
            assert await post_status(at(session, two), request("ping")) == 404
