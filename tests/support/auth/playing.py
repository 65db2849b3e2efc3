"""Flows played without input or output: answers go in, steps come out.

    asked: list[Step] = []
    found = play(find_server(ISSUER), {f"{ISSUER}/.well-known/…": document({…})}, asked)
    assert urls(asked) == […]

URLs missing from a table of answers are not found. An answer that is an error of authorization is
thrown into the flow, as a runner does when it cannot fetch something.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from json import dumps, loads
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import parse_qsl

from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from mcp_protogen.runtime.features.auth.steps import (
    Answer,
    AssertionRequest,
    AuthorizationRequest,
    Fetch,
    Fetched,
    Flow,
    Step,
)

T = TypeVar("T")

Given: TypeAlias = Answer | AuthorizationError
"""What comes of a step: its answer, or why there is none."""
Answers: TypeAlias = Mapping[str, Given] | Sequence[Given] | Callable[[Step], Given]
"""Answers by the URL of the step, in their order, or made for each step."""

NOT_FOUND: Final = Fetched(
    status=404, headers={"content-type": "text/html"}, body=b"<h1>Not found</h1>"
)


def document(value: object, status: int = 200, **headers: str) -> Fetched:
    """Return a response with a JSON document; `headers` are written with underscores."""
    fields = {"content-type": "application/json"}
    fields |= {name.replace("_", "-"): text for name, text in headers.items()}
    return Fetched(status=status, headers=fields, body=dumps(value).encode())


def play(flow: Flow[T], answers: Answers, asked: list[Step] | None = None) -> T:
    """Play a flow to its end, and return its result; its steps are appended to `asked`.

    Raises the error of the flow, and `AssertionError` if the number of answers in a list is wrong.
    """
    left: list[Given] = []
    answer = _answers(answers, left)
    try:
        step = next(flow)
        while True:
            if asked is not None:
                asked.append(step)
            step = _resume_flow(flow, answer(step))
    except StopIteration as end:
        assert not left, f"nobody asked for {left}"
        result: T = end.value
        return result


def _resume_flow(flow: Flow[T], given: Given) -> Step:
    if isinstance(given, AuthorizationError):
        return flow.throw(given)
    return flow.send(given)


def _answers(answers: Answers, left: list[Given]) -> Callable[[Step], Given]:
    """Return the answer to a step; `left` has the remaining answers of a list."""
    if callable(answers):
        return answers
    if isinstance(answers, Mapping):
        return lambda step: answers.get(_address(step), NOT_FOUND)
    left.extend(answers)

    def next_one(step: Step) -> Given:
        assert left, f"no answer is left for {step}"
        return left.pop(0)

    return next_one


def urls(asked: Iterable[Step]) -> list[str]:
    """Return the URLs of steps in order; for assertions, their audience."""
    return [_address(step) for step in asked]


def _address(step: Step) -> str:
    return step.audience if isinstance(step, AssertionRequest) else step.url


def fetches(asked: Iterable[Step]) -> list[Fetch]:
    """Return the HTTP requests among steps."""
    return [step for step in asked if isinstance(step, Fetch)]


def pages(asked: Iterable[Step]) -> list[AuthorizationRequest]:
    return [step for step in asked if isinstance(step, AuthorizationRequest)]


def json_sent(step: Step) -> Any:
    assert isinstance(step, Fetch)
    assert step.body is not None
    return loads(step.body)


def form_sent(step: Step) -> dict[str, str]:
    assert isinstance(step, Fetch)
    assert step.body is not None
    return parameters_in(step.body.decode("ascii"))


def parameters_in(text: str) -> dict[str, str]:
    """Return the parameters of a query or form; none may repeat (RFC 6749, section 3.2)."""
    pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)
