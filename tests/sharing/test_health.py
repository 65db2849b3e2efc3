"""Health checks of a load balancer: alive, and ready."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_protogen.runtime.core.tasks import Tasks
from mcp_protogen.runtime.features.sharing.shared_worker import SharedWorker
from mcp_protogen.runtime.http.server.sessions.worker import Worker
from mcp_protogen.runtime.storage.memory import MemoryEngine
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import Site, app_of, calling, run_app, serving, text_in
from support.revisions import STATELESS
from support.sessions.talking import pkg, tools
from support.sharing.faults import Engine, shared_by
from support.tables import case


async def echo(session: object, params: CallToolRequestParams) -> str:
    return str(params.name)


def ours(**members: Any) -> Any:
    return tools(STATELESS, echo, **members)


async def test_both_answer_anybody() -> None:
    tokens = pkg.static_tokens({"a" * 16: pkg.Principal("ada")})
    checks = pkg.Authentication(verify=tokens)
    async with serving(ours(), authentication=checks) as site:
        for path, status in (("/health", "ok"), ("/ready", "ready")):
            with case(path):
                answer = await site.http.get(path, headers={"host": "10.0.0.7"})
                assert (answer.status_code, answer.json()) == (200, {"status": status})
                assert answer.headers["content-type"] == "application/json"
                assert answer.headers["cache-control"] == "no-store"
                head = await site.http.head(path)
                assert (head.status_code, head.content) == (200, b"")
                post = await site.http.post(path, content=b"{}")
                assert (post.status_code, post.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


async def test_health_paths_can_be_chosen_and_left_out() -> None:
    async with serving(ours(), health_path="/livez", ready_path=None) as site:
        answers = [
            (await site.http.get(path)).status_code for path in ("/livez", "/health", "/ready")
        ]
        assert answers == [200, 404, 404]
    for name in ("health_path", "ready_path"):
        with pytest.raises(ValueError, match=f"{name} must begin with a slash"):
            app_of(ours(), **{name: "health"})


async def test_other_routes_take_precedence() -> None:
    def health(request: pkg.RouteRequest) -> str:
        return "own"

    routes = [pkg.Route("/health", health)]
    async with serving(ours(), path="/ready", routes=routes) as site:
        answer = await site.http.get("/health")
        assert (answer.status_code, answer.text) == (200, "own")
        # Then it is a route as others are.
        assert (await site.http.get("/health", headers={"host": "10.0.0.7"})).status_code == 421
        assert (await site.http.get("/ready")).status_code != 200


async def readiness(site: Site) -> tuple[int, str]:
    answer = await site.http.get("/ready")
    assert (await site.http.get("/health")).status_code == 200
    return answer.status_code, answer.json()["status"]


async def test_server_is_ready_from_lifespan_until_close() -> None:
    enter, begun, drain = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def lifespan(self: object) -> AsyncGenerator[None, None]:
        await enter.wait()
        yield

    async def waits(session: object, params: CallToolRequestParams) -> str:
        begun.set()
        await drain.wait()
        return "done"

    app = app_of(tools(STATELESS, waits, lifespan=lifespan))
    # As inside another application, which passes no lifespan on.
    async with run_app(app, lifespan="off") as port, calling(port) as site:
        assert await readiness(site) == (503, "starting")
        enter.set()
        while await readiness(site) != (200, "ready"):
            await asyncio.sleep(0.005)
        call = asyncio.create_task(site.modern("tools/call", name="x"))
        await begun.wait()
        closing = asyncio.create_task(app.close())
        await asyncio.sleep(0)
        assert await readiness(site) == (503, "closing")
        drain.set()
        assert text_in(await call) == "done"
        await closing


async def test_a_lifespan_that_fails_is_tried_again() -> None:
    attempts: list[int] = []

    @asynccontextmanager
    async def lifespan(self: object) -> AsyncGenerator[None, None]:
        attempts.append(1)
        if len(attempts) < 3:
            raise OSError("not yet")
        yield

    app = app_of(ours(lifespan=lifespan))
    async with run_app(app, lifespan="off") as port, calling(port) as site:
        while await readiness(site) != (200, "ready"):
            await asyncio.sleep(0.005)
        assert len(attempts) == 3
        await app.close()


async def test_server_is_not_ready_without_engine() -> None:
    engine = Engine()
    async with serving(ours(), shared=shared_by(engine)) as site:
        assert await readiness(site) == (200, "ready")
        engine.away = True
        assert await readiness(site) == (503, "engine unavailable")
        # Requests that need nothing of it are served all the same.
        assert text_in(await site.modern("tools/call", name="x")) == "x"
        engine.away = False
        assert await readiness(site) == (200, "ready")


async def test_an_engine_that_cannot_be_used_is_said_at_the_start() -> None:
    class Broken:
        def connect(self, worker: str, lease: float, receive: object) -> object:
            raise ImportError("no client for it")

    app = app_of(ours(), shared=shared_by(Broken()))
    async with run_app(app, lifespan="off") as port, calling(port) as site:
        assert await readiness(site) == (503, "starting")
        assert (await site.modern("tools/call", name="x")).status_code == 503
    with pytest.raises(SystemExit):
        async with run_app(app):
            pass
    assert "no client for it" in str(app.failure)


async def test_worker_counts_on_nothing_before_it_has_an_engine() -> None:
    tasks = Tasks()
    assert Worker("a", 60.0).current
    assert not SharedWorker(MemoryEngine(), 10.0, "a", 60.0, tasks).current
