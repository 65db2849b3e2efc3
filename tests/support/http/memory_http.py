"""HTTP in memory: the requests of httpx2 go to an ASGI application in the same loop."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import httpx2


class MemoryHttp(httpx2.AsyncBaseTransport):
    """Carries requests to an application while there is one; its connections can be cut."""

    def __init__(self, app: Callable[..., Awaitable[None]] | None = None) -> None:
        self.app = app
        self._exchanges: set[_Exchange] = set()

    def client(self) -> httpx2.AsyncClient:
        """Return a client whose requests all go to the application."""
        return httpx2.AsyncClient(transport=self, timeout=None)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.app is None:
            raise httpx2.ConnectError("nothing listens there", request=request)
        exchange = _Exchange(request)
        self._exchanges.add(exchange)
        try:
            return await exchange.response(self.app)
        except BaseException:
            exchange.leave()
            raise
        finally:
            self._exchanges = {open for open in self._exchanges if not open.is_over}

    def cut(self) -> None:
        """Break all connections, as a process that is killed does."""
        for exchange in self._exchanges:
            exchange.cut()


class _Exchange(httpx2.AsyncByteStream):
    """One request and its response."""

    def __init__(self, request: httpx2.Request) -> None:
        self._request = request
        self._head: asyncio.Future[httpx2.Response] = asyncio.get_running_loop().create_future()
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._bodies = [{"type": "http.request", "body": request.content, "more_body": False}]
        self._left = asyncio.Event()
        self._is_cut = self.is_over = False

    async def response(self, app: Callable[..., Awaitable[None]]) -> httpx2.Response:
        url = self._request.url
        scope = {
            "type": "http",
            "method": self._request.method,
            "path": url.path,
            "query_string": url.query,
            "headers": [(name.lower(), value) for name, value in self._request.headers.raw],
        }
        self._work = asyncio.create_task(self._run(app, scope))
        return await self._head

    async def _run(self, app: Callable[..., Awaitable[None]], scope: Any) -> None:
        try:
            await app(scope, self._receive, self._send)
        finally:
            self.is_over = True
            self._pieces.put_nowait(None)

    async def _receive(self) -> Any:
        if self._bodies:
            return self._bodies.pop()
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start" and not self._head.done():
            answer = httpx2.Response(message["status"], headers=message["headers"], stream=self)
            self._head.set_result(answer)
        elif not self._left.is_set():
            self._pieces.put_nowait(message.get("body", b""))

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        while (piece := await self._pieces.get()) is not None:
            yield piece
        if self._is_cut:
            raise httpx2.ReadError("the connection was cut", request=self._request)

    async def aclose(self) -> None:
        self.leave()

    def leave(self) -> None:
        """Tell the application that its client has gone."""
        self._left.set()

    def cut(self) -> None:
        self._is_cut = True
        self.leave()
        self._pieces.put_nowait(None)
        if not self._head.done():
            error = httpx2.ReadError("the connection was cut", request=self._request)
            self._head.set_exception(error)
