"""Fetching a published schema from a file or a URL: the only module that opens a connection.

It returns bytes and judges none of them. Only plain files and http(s) are read; a URL may
redirect, but neither to another kind of place nor from https to http. Proxies are those of the
usual environment variables (`https_proxy`, `no_proxy` and so on). A user with a password, or a
query, may be in a URL; no problem shows either of them.
"""

import re
import threading
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from mcp_protogen.problems import Problem, ProblemError

if TYPE_CHECKING:
    from http.client import HTTPMessage
    from urllib.request import OpenerDirector, Request

MAX_BYTES = 16 * 1024 * 1024
"""The published files are below 200 kB; anything near this bound is not one of them."""
SILENCE_SECONDS = 20.0
TOTAL_SECONDS = 60.0
_CHUNK = 64 * 1024
_NOT_MODIFIED = 304
_GONE = frozenset({404, 410})
_SECRETS = re.compile(r"(?<=://)[^/?#]*@|[?#].*", re.DOTALL)
_URL = re.compile(r"\w+://[^\s'\"]+")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a web server.

    With an `etag`, the content is wanted only if it is another one than that stands for. A `token`
    goes to the host of the URL and to nobody it redirects to, and so does a user in the URL.
    """

    url: str
    etag: str = ""
    token: str = ""
    accept: str = "application/json, */*;q=0.1"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a web server holds: `content` is None if it is still what the ETag asked with is of."""

    content: bytes | None
    etag: str = ""


class NotThere(ProblemError):
    """A web server answered, and has nothing under that URL."""


def read_source(source: str) -> bytes:
    """The bytes of a file path or an http, https or file URL.

    Raises `ProblemError` (`unreadable-source`) when there is nothing to read, when a server is
    silent for 20 seconds or slow for 60, and beyond 16 MiB.
    """
    parts = _parts_of(source)
    if parts.scheme in {"http", "https"}:
        return ask(Question(source)).content or b""
    if parts.scheme == "file":
        return _read(_file_of(parts, source), source)
    if "://" in source:
        raise _unreadable(source, f"{parts.scheme} is not a scheme that is read from")
    return _read(Path(source), source)


def source_name(source: str) -> str:
    """How a source is called in a lock: a file by its name, a URL without user or query."""
    parts = _parts_of(source)
    if parts.scheme in {"http", "https"}:
        return without_secrets(source)
    return (_file_of(parts, source) if parts.scheme == "file" else Path(source)).name


def without_secrets(source: str) -> str:
    """A source as it may be shown: a path as it is, and a URL, even a wrong one, without user,
    query and fragment."""
    return _SECRETS.sub("", source) if "://" in source else source


def is_as_safe(scheme: str, url: str) -> bool:
    """Whether a redirect from a place with `scheme` to `url` loses no protection."""
    return scheme != "https" or urlsplit(url).scheme == "https"


def _parts_of(source: str) -> SplitResult:
    try:
        return urlsplit(source)
    except ValueError:
        raise _unreadable(source, "it is no valid URL") from None


def _file_of(parts: SplitResult, source: str) -> Path:
    if parts.netloc not in {"", "localhost"}:
        raise _unreadable(source, "a file URL cannot name a host; write file:///path")
    return Path(unquote(parts.path))


def _read(path: Path, source: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(source, error.strerror or str(error)) from error
    return _bounded(content, source)


def ask(question: Question) -> Answer:
    """What a web server answers, within the same bounds as `read_source`.

    Raises `ProblemError` (`unreadable-source`), and of these `NotThere` where it has no such file.
    """
    from http.client import HTTPException, InvalidURL
    from urllib.error import HTTPError, URLError

    url = question.url

    def exchange() -> Answer:
        with _opener().open(_request(question), timeout=SILENCE_SECONDS) as response:
            return Answer(_bounded(_drain(response), url), response.headers.get("ETag", ""))

    try:
        return _in_time(exchange)
    except TimeoutError as error:
        raise _unreadable(url, "the server took too long") from error
    except HTTPError as error:
        if error.code == _NOT_MODIFIED and question.etag:
            return Answer(None, question.etag)
        problem = _unreadable(url, f"HTTP {error.code} {error.reason}")
        raise (NotThere(*problem.problems) if error.code in _GONE else problem) from error
    except URLError as error:
        raise _unreadable(url, str(error.reason)) from error
    except (InvalidURL, ValueError) as error:  # whose texts quote what may be secret
        raise _unreadable(url, "it is no valid URL, or what goes with it cannot be sent") from error
    except (OSError, HTTPException) as error:
        raise _unreadable(url, str(error)) from error


def _in_time(exchange: Callable[[], Answer]) -> Answer:
    """What an exchange gives, or a `TimeoutError` once it takes too long on the whole.

    A thread, because the time of a socket starts anew with every byte and redirect, and because
    nothing else bounds how long a name is looked up.
    """
    from concurrent.futures import Future

    answer: Future[Answer] = Future()

    def work() -> None:
        try:
            answer.set_result(exchange())
        except Exception as error:
            answer.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return answer.result(TOTAL_SECONDS)


def _request(question: Question) -> "Request":
    from urllib.request import Request

    parts = urlsplit(question.url)
    user, _, host = parts.netloc.rpartition("@")
    url = parts._replace(netloc=host, fragment="").geturl()
    request = Request(url, headers={"Accept": question.accept})
    if question.etag:
        request.add_header("If-None-Match", question.etag)
    basic = f"Basic {b64encode(unquote(user).encode()).decode()}" if user else ""
    authorization = f"Bearer {question.token}" if question.token else basic
    if authorization:  # a redirect must not carry it elsewhere
        request.add_unredirected_header("Authorization", authorization)
    return request


def _drain(response: Any) -> bytes:
    content = bytearray()
    while len(content) <= MAX_BYTES and (chunk := response.read1(_CHUNK)):
        content += chunk
    if response.length and len(content) <= MAX_BYTES:  # what is still to come
        raise ConnectionError("the connection ended too early")
    return bytes(content)


def _opener() -> "OpenerDirector":
    """An opener for http and https alone; the usual one also reads local files and ftp."""
    from urllib import request as urllib
    from urllib.error import URLError

    class SameOrSafer(urllib.HTTPRedirectHandler):
        def redirect_request(
            self, req: "Request", fp: Any, code: int, msg: str, headers: "HTTPMessage", newurl: str
        ) -> "Request | None":
            """What to ask for next; the parameters are those of the standard library."""
            if not is_as_safe(req.type, newurl):
                raise URLError("it redirects from https to a place that is less safe")
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    opener = urllib.OpenerDirector()
    for handler in (
        urllib.ProxyHandler(),
        urllib.HTTPHandler(),
        urllib.HTTPSHandler(),
        urllib.HTTPDefaultErrorHandler(),
        urllib.HTTPErrorProcessor(),
        urllib.UnknownHandler(),
        SameOrSafer(),
    ):
        opener.add_handler(handler)
    opener.addheaders = [("User-Agent", "mcp-gen")]
    return opener


def _bounded(content: bytes, source: str) -> bytes:
    if len(content) > MAX_BYTES:
        raise _unreadable(source, f"it is larger than {MAX_BYTES // 1024 // 1024} MiB")
    return content


def _unreadable(source: str, reason: str) -> ProblemError:
    shown = _URL.sub(lambda found: without_secrets(found[0]), reason)
    # A server words what it answers with, and must not steer a terminal by it.
    harmless = "".join(character if character.isprintable() else " " for character in shown)
    message = f"nothing could be read: {harmless}"
    return ProblemError(Problem("unreadable-source", message, without_secrets(source)))
