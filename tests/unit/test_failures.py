"""The advice of commands when a connection or a request fails."""

from mcp_protogen.runtime.core.connection_errors import (
    Disconnected,
    HttpError,
    RequestTimeout,
    Strays,
)
from mcp_protogen.servers.connect.failures import failure_of, problem_error
from support.tables import case

URL = "check the URL of the server; it often ends in /mcp"
FAILED = "the server or a proxy has failed"
HINTS: dict[tuple[int, float | None], str] = {
    (200, None): URL,
    (307, None): "give the new URL that the server names",
    (401, None): "choose an --auth, such as oauth or bearer:VARIABLE",
    (403, None): "the server refuses this user or this client; check --auth and --header",
    (404, None): URL,
    (405, None): URL,
    (429, 2.0): "the server received too many requests; try again after 2 s",
    (429, 0.2): "the server received too many requests; try again after 1 s",
    (429, None): "the server received too many requests; try again later",
    (500, None): FAILED,
    (502, None): f"{FAILED}; try again later",
    (503, 30.0): f"{FAILED}; try again after 30 s",
    (504, None): f"{FAILED}; try again later",
    (520, None): FAILED,
    (999, None): FAILED,
}


def test_http_statuses_have_hints() -> None:
    for (status, seconds), hint in HINTS.items():
        with case(f"{status} {seconds}"):
            failure = failure_of(HttpError(status, f"HTTP {status}", seconds), "here")
            assert failure.problem.hint == hint
    for status in range(200, 1000):
        assert failure_of(HttpError(status, "refused"), "here").problem.hint


def test_lines_in_place_of_messages_have_a_hint_and_the_last_errors_stay_apart() -> None:
    strays = Strays(lines=(b"usage: server --stdio",))
    ended = Disconnected(strays.explain("the server ended; the last it wrote:\nno such option"))
    for error in (ended, RequestTimeout("initialize", 5, strays)):
        with case(str(error)):
            problem = failure_of(error, "here").problem
            assert problem.message.startswith("the server wrote 'usage: server --stdio' where")
            assert "standard error" in problem.hint
    assert failure_of(ended, "here").written == ["no such option"]
    assert "--timeout" in failure_of(RequestTimeout("initialize", 5), "here").problem.hint


def test_answers_that_fit_no_request_have_a_hint() -> None:
    strays = Strays().with_answer("2", "", [2])
    problem = failure_of(RequestTimeout("initialize", 5, strays, 2), "here").problem
    assert problem.message.endswith("answered a request with the id '2', which is not open (2 is)")
    assert "exactly as it came" in problem.hint


def test_failures_to_connect_have_hints() -> None:
    for text, hint in {
        "the program writes back the messages that it is sent": "name a program that is a server",
        "cannot start gone: No such file or directory": "install the program, or correct its name",
        "the server ended with code 0": "run the program by itself to see why",
        "POST http://here: ConnectError: refused": "check the URL, and whether the server runs",
        "POST http://here: RemoteProtocolError: the response is malformed": URL,
        "the stream ended before server/discover was answered": URL,
        "the HTTP response to initialize does not answer it": URL,
    }.items():
        with case(text):
            assert failure_of(Disconnected(text), "here").problem.hint.startswith(hint)
    known = Disconnected(
        "the server ended with code 1; its last output on standard error:\nKeyError"
    )
    assert failure_of(known, "here").problem.hint == ""
    assert str(problem_error(known, "here")).endswith(" standard error: KeyError")
    strays = Strays(lines=(b'{"hello": 1}',))
    text = strays.explain("the HTTP response to initialize does not answer it")
    assert failure_of(Disconnected(text), "here").problem.hint == URL
