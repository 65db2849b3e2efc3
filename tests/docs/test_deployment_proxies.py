"""The proxies of the page about deployment, with its configurations, before a server.

HAProxy uses the file of new projects; the page adds TLS and the addresses of workers.
"""

import asyncio
import re
import subprocess
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from mcp_revisions import HttpOptions
from mcp_revisions import v2026_07_28 as mcp
from support.auth.certificates import certificate
from support.docs.pages import block_texts
from support.engines import ending_with_us, wait_until_listening
from support.folders import ROOT
from support.http.serving import Site, post_request, run_app, stateless_request, text_in
from support.missing import skip_untested
from support.ports import free_port
from support.programs import find_program
from support.sessions.talking import META

NAME: Final = "localhost"
_TEMPORARY: Final = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
_NGINX: Final = "".join(f"{kind}_temp_path t;" for kind in _TEMPORARY)
# The start commands, and the frame of the page's configuration.
PROXIES: Final = {
    "nginx": (
        ("-p", ".", "-e", "log", "-g", "daemon off; master_process off;", "-c"),
        f"pid p; events {{}} http {{ access_log off; {_NGINX} CONFIGURATION }}",
    ),
    "caddy": (
        ("run", "--adapter", "caddyfile", "--config"),
        "{\nadmin off\nhttps_port PORT\nauto_https disable_redirects\n}\nCONFIGURATION",
    ),
    "haproxy": (("-db", "-f"), "CONFIGURATION"),
}
PAGE: Final = "deployment.md"
(NGINX,) = block_texts(PAGE, "nginx")
(CADDY,) = block_texts(PAGE, "caddyfile")
(HAPROXY,) = block_texts(PAGE, "haproxy")
(ENTRANCE,) = re.findall(r"^ +bind .+\n(?: +http-request .+\n)*", HAPROXY, re.M)
WORKERS: Final = "".join(re.findall(r"^ +server .+\n?", HAPROXY, re.M))
NEW: Final = (ROOT / "templates/scaffold/server/haproxy.cfg.jinja").read_text(encoding="utf-8")
WITH_TLS: Final = re.sub(r"^ +bind .+\n", ENTRANCE, NEW, flags=re.M) + WORKERS
SHOWN: Final = {"nginx": NGINX, "caddy": CADDY, "haproxy": WITH_TLS}


def configuration(proxy: str, key: Path, port: int, workers: tuple[int, int]) -> str:
    """Return the page's configuration, with local addresses."""
    text = PROXIES[proxy][1].replace("CONFIGURATION", SHOWN[proxy]).replace("mcp.example.com", NAME)
    text = re.sub(r"/etc/ssl/\S+\.(pem|key)", str(key), text)
    text = text.replace(f"{NAME} {{\n\t", f"{NAME} {{\n\ttls {key} {key}\n\t")
    text = re.sub(r"(listen |bind :)443", rf"\g<1>{port}", text).replace("PORT", str(port))
    first, second = (f"127.0.0.1:{worker}" for worker in workers)
    text = text.replace("127.0.0.1:8001", first).replace("127.0.0.1:8002", second)
    return re.sub(r"(127\.0\.0\.1|server):8000", second, text)


@asynccontextmanager
async def running(command: Sequence[str], port: int, folder: Path) -> AsyncGenerator[None, None]:
    with (folder / "output").open("ab") as output:
        process = subprocess.Popen(
            ending_with_us(*command),
            cwd=folder,
            env={"HOME": str(folder)},
            stdout=output,
            stderr=output,
        )
    try:
        # It asks the workers meanwhile whether they are ready.
        await asyncio.to_thread(wait_until_listening, port, process)
        yield
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def refusing(asked: Counter[str]) -> AsyncGenerator[int, None]:
    """A worker that is ready but refuses every request."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method = head.split(b" ")[0].decode()
        asked[method] += 1
        status = "200 OK" if method in ("GET", "OPTIONS") else "503 Service Unavailable"
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def whole_call(name: str, **more: Any) -> bytes:
    """Return the bytes of a request that calls a tool."""
    sent = post_request(*stateless_request("tools/call", name=name, **more))
    fields = {b"host": NAME.encode(), b"content-length": b"%d" % len(sent["content"])}
    lines = (b"%s: %s\r\n" % field for field in {**fields, **sent["headers"]}.items())
    return b"".join((b"POST /mcp HTTP/1.1\r\n", *lines, b"\r\n", sent["content"]))


def test_the_file_of_new_projects_is_that_of_the_page_but_for_tls_and_addresses() -> None:
    page, new = (set(re.findall(r"^ *([^\s#].*)", text, re.M)) for text in (HAPROXY, WITH_TLS))
    assert page - new == set()
    assert {directive.partition(" ")[0] for directive in new - page} == {
        "resolvers",
        "nameserver",
        "server-template",
    }


@pytest.mark.parametrize("proxy", PROXIES)
async def test_a_proxy_does_what_the_page_asks_of_proxies(proxy: str, tmp_path: Path) -> None:
    program = find_program(proxy) or skip_untested(proxy, "its configuration for deployment")
    app, cancelled = mcp.App("worker"), asyncio.Event()

    @app.tool
    async def hold(session: mcp.Session) -> str:
        try:
            await session.progress(1)
            return str(await asyncio.Event().wait())
        finally:
            cancelled.set()

    @app.tool
    def field(name: str, session: mcp.Session) -> str:
        assert session.http_request is not None
        return session.http_request.headers.get(name, "")

    key, trusting = certificate(tmp_path, NAME)
    port, requests = free_port(), Counter[str]()
    async with (
        asyncio.timeout(30),
        run_app(app.http(http=HttpOptions(keep_alive=600))) as worker,
        refusing(requests) as other,
        httpx2.AsyncClient(base_url=f"https://{NAME}:{port}", verify=trusting) as client,
    ):
        text = configuration(proxy, key, port, (other, worker))
        (tmp_path / "configuration").write_text(text)
        command = (program, *PROXIES[proxy][0], "configuration")
        async with running(command, port, tmp_path):
            site = Site(port, "/mcp", client)
            for name, value in (
                ("authorization", "Bearer abc"),
                ("dpop", "def"),
                ("last-event-id", "ghi"),
                ("mcp-name", "field"),
                ("x-forwarded-proto", "https"),
            ):
                sent = {} if name == "x-forwarded-proto" else {name: value}
                answer = await site.modern(
                    "tools/call", name="field", arguments={"name": name}, headers=sent
                )
                assert text_in(answer) == value, name
            reader, writer = await asyncio.open_connection(NAME, port, ssl=trusting)
            # In one piece: otherwise HAProxy still reads when the client goes.
            writer.write(whole_call("hold", meta={**META, "progressToken": 1}))
            # The stream is still open, so the proxy does not buffer it.
            await reader.readuntil(b"notifications/progress")
            # Otherwise it would wait for the goodbye of TLS.
            writer.transport.abort()
            await cancelled.wait()
    assert (proxy == "haproxy") == (requests["POST"] > 0)
