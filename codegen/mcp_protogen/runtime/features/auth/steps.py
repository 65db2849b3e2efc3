"""The steps of a flow: what has to be done next, and what came of it.

A flow is a generator that does no input or output. It yields a request to make, a page to open or a
function to call, gets the answer, and returns its result. It raises `AuthorizationError`. Where a
request could not be made, whoever runs the flow throws `Unreachable` or `UnsafeUrl` into it.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """An HTTP request to make."""

    method: Literal["GET", "POST"] = "GET"
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The response to a `Fetch`. Names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRequest:
    """A page that the user has to open (RFC 6749, section 4.1.1).

    It ends with a redirect to `redirect_uri`, which repeats `state`.
    """

    url: str
    redirect_uri: str
    state: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationResponse:
    """The URL that the user was redirected to in the end, as it came (RFC 6749, section 4.1.2)."""

    url: str = field(repr=False)


AssertionSource: TypeAlias = Callable[[str], str | Awaitable[str]]
"""Gives a new assertion, such as the JWT of a workload, for an audience: the issuer of tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionRequest:
    """An assertion that is needed: call `source` with `audience`, and await what it returns.

    A string is there at once.
    """

    source: AssertionSource = field(repr=False)
    audience: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """What the source of an assertion gave."""

    value: str = field(repr=False)


Step: TypeAlias = Fetch | AuthorizationRequest | AssertionRequest
Answer: TypeAlias = Fetched | AuthorizationResponse | Assertion
Flow: TypeAlias = Generator[Step, Answer, T]
"""A generator of steps that returns a `T`."""


def fetch(request: Fetch) -> Flow[Fetched]:
    """Return the response to a request, as one step of a flow."""
    answer = yield request
    assert isinstance(answer, Fetched)
    return answer


def ask_user(request: AuthorizationRequest) -> Flow[AuthorizationResponse]:
    """Return where the user was redirected, as one step of a flow."""
    answer = yield request
    assert isinstance(answer, AuthorizationResponse)
    return answer


def assertion(source: str | AssertionSource, audience: str) -> Flow[str]:
    """Return an assertion that is known, or that has to be asked for, as one step of a flow."""
    if isinstance(source, str):
        return source
    answer = yield AssertionRequest(source=source, audience=audience)
    assert isinstance(answer, Assertion)
    return answer.value
