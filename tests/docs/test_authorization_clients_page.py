"""The code on the page about authorization of clients works."""

import asyncio
import re
from pathlib import Path

import httpx2
import pytest
from support.auth.browsing import User
from support.auth.guarded_server import serve_guarded
from support.docs.pages import page, run_page
from support.revisions import STATELESS
from support.sessions.talking import pkg

PAGE = "authorization-clients.md"


async def test_the_programs_of_the_page_run(tmp_path: Path) -> None:
    shown = run_page(PAGE)
    user = User()
    auth = pkg.OAuth(user_agent=pkg.LoopbackReceiver(open=user.open))
    async with serve_guarded(STATELESS) as guard:
        assert await shown["ask"](guard.url, auth) == "whoami"
        assert await shown["status"](guard.url, auth) == 405
        assert len(user.pages) == 1
        pages: asyncio.Queue[str] = asyncio.Queue()
        login = shown["Login"](pkg.WebRedirect("https://app.example/callback", pages.put))
        asking = asyncio.create_task(shown["ask"](guard.url, login.auth))
        async with httpx2.AsyncClient(verify=False) as browser:
            location = (await browser.get(await pages.get())).headers["location"]
        assert [login.callback(location), login.callback(location)] == [200, 400]
        assert await asking == "whoami"
    token = tmp_path / "token"
    token.write_text("a.b.c\n")
    assert shown["by_platform"](token).grant.assertion("audience") == "a.b.c"
    assert shown["by_enterprise"]("id token").grant.subject_token == "id token"
    assert shown["by_key"]("PEM").client.private_key == "PEM"
    assert shown["by_secret"].client.issuer == "https://login.example.com"


def test_the_settings_on_the_page_are_those_that_there_are() -> None:
    text = page(PAGE)
    for kind, names in (
        (pkg.OAuth, re.findall(r"^\| `(\w+)=", text, re.MULTILINE)),
        (pkg.OAuth, re.findall(r"`(max_step_ups|dpop_required|http|fetch_policy)=?", text)),
        (pkg.FetchPolicy, ["ssl_context", "timeout", "max_bytes", "max_redirects", "loopback"]),
    ):
        known = {*kind.__dataclass_fields__, "port", "open", "timeout"}
        assert {*names} <= known
    assert pkg.FetchPolicy().timeout == 10
    assert pkg.FetchPolicy().max_bytes == 1024 * 1024


def test_the_errors_on_the_page_are_of_one_family() -> None:
    table = page(PAGE).partition("## Errors")[2]
    names = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert len(names) == 5
    for name in names:
        assert issubclass(getattr(pkg, name), pkg.AuthorizationError)
    with pytest.raises(ValueError, match="HTTPS"):
        pkg.OAuth().authorizer("http://mcp.example.com/mcp")
