"""Fetching: files and http(s) only, within bounds, and one clear problem otherwise."""

import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.sources import upstream
from mcp_protogen.pipeline.sources.upstream import (
    Question,
    ask,
    read_source,
    source_name,
    without_secrets,
)
from support import tables

GONE = threading.Event()
"""Set when nobody asks any more."""


MOVED = {
    "/moved": "/schema.json",
    "/to-file": "file:///etc/hostname",
    "/to-ftp": "ftp://127.0.0.1/schema.json",
    "/loop": "/loop",
    "/to-who": "/who",
    "/to-secret": "ftp://somebody:secret@127.0.0.1/a?token=secret",
}


class Pages(BaseHTTPRequestHandler):
    """A few pages, one for each faulty answer."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path in MOVED:
            self._answer(302, b"", Location=MOVED[path])
        elif path == "/steering":
            self.wfile.write(b"HTTP/1.1 500 \x1b[2J\r\nContent-Length: 0\r\n\r\n")
        elif path == "/who":
            self._answer(200, (self.headers.get("Authorization") or "nobody").encode())
        elif path == "/dripping":
            with suppress(OSError):
                while not GONE.wait(0.01):
                    self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        elif path == "/silent":
            GONE.wait()
        elif path == "/broken":
            self.server.shutdown_request(self.request)
        elif path == "/short":
            self._answer(200, b"{}", **{"Content-Length": "100"})
        elif path == "/schema.json":
            self._answer(200, b'{"$defs": {}}')
        else:
            self._answer(404, b"no such page")

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        GONE.set()
        server.shutdown()


def refusal(source: str) -> str:
    with pytest.raises(ProblemError, match="unreadable-source") as caught:
        read_source(source)
    assert caught.value.problems[0].place == without_secrets(source)
    return caught.value.problems[0].message


def test_a_page_is_read_also_after_a_redirect(site: str) -> None:
    for page in ("schema.json", "moved"):
        assert read_source(f"{site}/{page}") == b'{"$defs": {}}'


def test_a_redirect_from_https_to_http_is_not() -> None:
    assert not upstream.is_as_safe("https", "http://example.com")
    assert upstream.is_as_safe("https", "https://example.com")
    assert upstream.is_as_safe("http", "https://example.com")


def test_an_answer_without_a_page_is_a_problem(site: str) -> None:
    for page, said in (
        *(("to-file", "file"), ("to-ftp", "ftp"), ("loop", "HTTP 302"), ("other", "HTTP 404")),
        *(("broken", "nothing could be read"), ("short", "nothing could be read")),
    ):
        with tables.case(page):
            assert said in refusal(f"{site}/{page}")


def test_refused_connection_is_reported() -> None:
    assert "refused" in refusal("http://127.0.0.1:9/schema.json")


@pytest.mark.parametrize("page", ["silent", "dripping"])
def test_a_server_that_does_not_answer_is_given_up(
    site: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream, "TOTAL_SECONDS", 0.2)
    assert "too long" in refusal(f"{site}/{page}")


def test_a_user_in_a_url_is_sent_to_its_server_and_nobody_else(site: str) -> None:
    with_user = site.replace("//", "//some%40body:secret@")
    basic = f"Basic {b64encode(b'some@body:secret').decode()}"
    assert read_source(f"{with_user}/who") == basic.encode()
    assert read_source(f"{with_user}/to-who") == b"nobody"
    assert read_source(f"{site}/who") == b"nobody"
    assert ask(Question(f"{with_user}/who", token="t")).content == b"Bearer t"


@pytest.mark.parametrize(
    "path",
    [
        "other?token=secret",
        "loop?token=secret",
        "to-secret",
        "other?token=secret with a space",
        "other?token=secret#secret",
        "other?token=secret\n",
    ],
)
def test_no_problem_shows_what_is_secret(site: str, path: str) -> None:
    for source in (f"{site}/{path}", f"{site}/{path}".replace("//", "//user:secret@", 1)):
        with pytest.raises(ProblemError) as caught:
            read_source(source)
        assert "secret" not in str(caught.value).replace("to-secret", "")
        assert f"{site}/{path.partition('?')[0]}" in str(caught.value)


def test_no_url_that_is_refused_shows_what_is_secret() -> None:
    for source in (
        *("http://user:secret@127.0.0.1:9/a", "http://user:secret@[::1/a?secret"),
        *("http://user:secret@host:port/a?secret", "http://127.0.0.1:9/ä?secret"),
        *("http://user:secret@/a?secret", "ftp://user:secret@127.0.0.1/a?secret"),
        *("file://user:secret@127.0.0.1/a?secret",),
    ):
        with tables.case(source):
            assert "secret" not in refusal(source)


def test_a_token_that_cannot_be_sent_is_not_shown(site: str) -> None:
    with pytest.raises(ProblemError) as caught:
        ask(Question(f"{site}/who", token="sec\nret"))
    assert "ret" not in str(caught.value).replace("unreadable", "")


def test_a_server_cannot_steer_the_terminal_by_its_words(site: str) -> None:
    assert "\x1b" not in refusal(f"{site}/steering")


def test_far_too_much_is_refused(
    site: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(upstream, "MAX_BYTES", 4)
    (tmp_path / "big").write_bytes(b"12345")
    assert "larger" in refusal(f"{site}/schema.json")
    assert "larger" in refusal(str(tmp_path / "big"))


def test_files_are_read_by_path_and_by_url(tmp_path: Path) -> None:
    file = tmp_path / "a schema.json"
    file.write_bytes(b"{}")
    assert read_source(str(file)) == read_source(file.as_uri()) == b"{}"


def test_everything_else_is_a_problem() -> None:
    for source in (
        *("nowhere.json", "ftp://example.com/a", "file://example.com/a"),
        *("data://x", "http://", "."),
    ):
        with tables.case(source):
            refusal(source)


def test_a_source_is_named_without_secrets_and_machine_paths() -> None:
    for source, name in (
        ("/home/someone/draft.json", "draft.json"),
        ("file:///home/someone/a%20b.json", "a b.json"),
        ("https://user:secret@example.com/a.json?token=1#x", "https://example.com/a.json"),
    ):
        with tables.case(source):
            assert source_name(source) == name
