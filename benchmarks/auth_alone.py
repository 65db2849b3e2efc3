"""Times calls with a token inside the application, without a server or a socket.

`python -m benchmarks.auth_alone ROUNDS` prints the median seconds of processor time of each call as
a JSON object, by revision and credentials.
"""

import asyncio
import gc
import json
import sys
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from hashlib import sha256
from time import process_time, time
from typing import Any, Final

from mcp_protogen.runtime.features.auth.signing import PrivateKey
from mcp_revisions import (
    Authentication,
    DPoPProofs,
    HttpOptions,
    JwtVerifier,
    Principal,
    ProtectedResource,
    StaticKeys,
    TokenCache,
    http_app,
    static_tokens,
)

from .http_alone import post
from .http_echo import server_of
from .http_requests import FIRST_ID, STATELESS, Requests
from .places import REVISION
from .timing import Action, interleave_calls

_AT_ONCE: Final = 100
_ISSUER: Final = "https://auth.example"
_RESOURCE: Final = "https://mcp.example/mcp"
_PORT: Final = 80

_STATIC: Final = "t" * 32

Call = Callable[[], Awaitable[Any]]


def token_of(key: PrivateKey, **claims: Any) -> str:
    """Return an access token with the usual claims."""
    now = time()
    said = {"iss": _ISSUER, "sub": "ada", "aud": _RESOURCE, "iat": now, "exp": now + 24 * 3600}
    return key.sign({**said, "scope": "read write", "jti": "1", **claims}, typ="at+jwt", kid="a")


def proof_of(key: PrivateKey, token: str) -> str:
    """Return a proof that may be used again and again, since no server remembers it."""
    ath = urlsafe_b64encode(sha256(token.encode()).digest()).rstrip(b"=").decode()
    claims = {"jti": "1", "htm": "POST", "htu": _RESOURCE, "iat": time(), "ath": ath}
    return key.sign(claims, typ="dpop+jwt", jwk=key.public.jwk)


def app_of(revision: str, verify: Any, proofs: Any = None) -> Any:
    """Return an application that requires tokens."""
    resource = ProtectedResource(url=_RESOURCE, authorization_servers=[_ISSUER])
    guard = Authentication(verify=verify, resource=resource, proofs=proofs, scopes=["read"])
    return http_app(server_of(revision), http=HttpOptions(authentication=guard))


def jwt_verifier(key: PrivateKey, *, known: bool = True) -> Any:
    """Return a verifier for tokens of a key: checked once, or each time."""
    return JwtVerifier(
        issuer=_ISSUER,
        audience=_RESOURCE,
        keys=StaticKeys({**key.public.jwk, "kid": "a"}),
        cache=TokenCache(lifetime=3600 if known else 0),
    )


async def call(app: Any, revision: str, *fields: str) -> Call:
    """Return a call with these header fields, in a new session if the revision has sessions."""
    requests, lines = Requests(_PORT), "".join(f"{field}\r\n" for field in fields).encode()

    def send_request(request: bytes) -> Call:
        first, end, rest = request.partition(b"\r\n")
        return post(app, first + end + lines + rest)

    if revision == STATELESS:
        return send_request(requests.call_alone() % FIRST_ID)
    begun, _ = await send_request(requests.initialize())()
    session = dict(begun["headers"])[b"mcp-session-id"].decode()
    await send_request(requests.initialized_notification(session))()
    return send_request(requests.call_in_session(session) % FIRST_ID)


async def calls() -> dict[str, Call]:
    es256, rs256 = PrivateKey.generate("ES256"), PrivateKey.generate("RS256")
    static = static_tokens({_STATIC: Principal("ada", frozenset({"read", "write"}))})
    token, bound = token_of(es256), token_of(es256, cnf={"jkt": es256.public.thumbprint})
    bearer, proofs = f"Authorization: Bearer {token}", DPoPProofs(max_age=24 * 3600)
    shown = {
        "static": (static, f"Authorization: Bearer {_STATIC}"),
        "known": (jwt_verifier(es256), bearer),
        "ES256": (jwt_verifier(es256, known=False), bearer),
        "RS256": (jwt_verifier(rs256, known=False), f"Authorization: Bearer {token_of(rs256)}"),
    }
    found: dict[str, Call] = {}
    for revision in (REVISION, STATELESS):
        for name, (verify, field) in shown.items():
            found[f"{revision} {name}"] = await call(app_of(revision, verify), revision, field)
        app = app_of(revision, jwt_verifier(es256), proofs)
        fields = [f"Authorization: DPoP {bound}", f"DPoP: {proof_of(es256, bound)}"]
        found[f"{revision} DPoP"] = await call(app, revision, *fields)
    return found


def actions(runner: asyncio.Runner) -> dict[str, Action]:
    """Return the calls, each repeated until the start of the loop vanishes."""

    def several(one: Call) -> Action:
        async def run() -> None:
            for _ in range(_AT_ONCE):
                await one()

        return lambda: runner.run(run())

    return {name: several(entry) for name, entry in runner.run(calls()).items()}


def main(rounds: int) -> None:
    """Measure and print."""
    with asyncio.Runner() as runner:
        measured = actions(runner)
        for action in measured.values():
            action()
        gc.collect()
        gc.freeze()
        taken = interleave_calls(measured, rounds, process_time)
    print(json.dumps({name: seconds / _AT_ONCE for name, seconds in taken.items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
