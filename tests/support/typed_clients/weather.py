"""A server with tools, a prompt and a resource template: over HTTP, or as a program over stdio."""

import asyncio
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import Literal

from mcp_revisions import ToolError, http_app
from mcp_revisions import v2026_07_28 as mcp
from pydantic import BaseModel
from support.http.serving import run_app


class Forecast(BaseModel):
    """The result of a tool."""

    city: str
    high: float


def new_server() -> mcp.App:
    """Return the stateless server."""
    app = mcp.App("weather", version="1")

    @app.tool
    def get_forecast(city: str, units: Literal["c", "f"] = "c") -> Forecast:
        """Get the forecast."""
        if city == "Atlantis":
            raise ToolError("it has no weather")
        return Forecast(city=city, high=21.5 if units == "c" else 70.7)

    @app.tool
    def add(a: int, b: int) -> int:
        return a + b

    @app.prompt
    def describe(city: str, style: str = "brief") -> str:
        """Describe the weather."""
        return f"Describe the weather in {city}, {style}."

    @app.resource("weather://{country}/{city}")
    def city_page(country: str, city: str) -> str:
        """Read about a city."""
        return f"{city}, {country}"

    del get_forecast, add, describe, city_page
    return app


@contextmanager
def over_http() -> Generator[str, None, None]:
    """Serve in a thread, since commands have their own event loops; yield the URL."""
    begun: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        app, end = http_app(new_server()), asyncio.Event()
        async with run_app(app) as port:
            begun.set_result((f"http://127.0.0.1:{port}/mcp", asyncio.get_running_loop(), end))
            await end.wait()
            await app.close()

    thread = Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    url, loop, end = begun.result(30)
    yield url
    loop.call_soon_threadsafe(end.set)
    thread.join()


if __name__ == "__main__":
    new_server().run()
