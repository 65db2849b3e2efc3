"""The steps of a flow, and their answers.

A flow is a generator without input or output; it raises `AuthorizationError`. If a request fails,
its driver throws `Unreachable` or `UnsafeUrl` into it.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from ...http.headers import media_type

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
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

    @property
    def is_document(self) -> bool:
        """Return whether it is a document: some sites answer every path with a page."""
        page = media_type(self.headers.get("content-type")) == "text/html"
        return self.status == 200 and not page


Fetching: TypeAlias = Callable[[Fetch], Awaitable[Fetched]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRequest:
    """A page for the user to open; it ends at `redirect_uri` (RFC 6749, section 4.1.1)."""

    url: str
    redirect_uri: str
    state: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationResponse:
    """The URL of the final redirect (RFC 6749, section 4.1.2)."""

    url: str = field(repr=False)


AssertionSource: TypeAlias = Callable[[str], str | Awaitable[str]]
"""Returns a new assertion, such as the JWT of a workload, for an audience, the token issuer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionRequest:
    source: AssertionSource = field(repr=False)
    audience: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    value: str = field(repr=False)


Step: TypeAlias = Fetch | AuthorizationRequest | AssertionRequest
Answer: TypeAlias = Fetched | AuthorizationResponse | Assertion
Flow: TypeAlias = Generator[Step, Answer, T]


def fetch(request: Fetch) -> Flow[Fetched]:
    answer = yield request
    assert isinstance(answer, Fetched)
    return answer


def ask_user(request: AuthorizationRequest) -> Flow[AuthorizationResponse]:
    answer = yield request
    assert isinstance(answer, AuthorizationResponse)
    return answer


def assertion(source: str | AssertionSource, audience: str) -> Flow[str]:
    if isinstance(source, str):
        return source
    answer = yield AssertionRequest(source=source, audience=audience)
    assert isinstance(answer, Assertion)
    return answer.value
