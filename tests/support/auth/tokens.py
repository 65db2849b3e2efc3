"""The token endpoint of an authorization server for tests: grants, and the tokens for them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from joserfc.jwk import KeySet
from support.auth.clients import Client
from support.auth.jwts import claims_of, digest, header_of, sign_token, verify_token
from support.auth.messages import Fault, Request, Response, json_response, replace_members

if TYPE_CHECKING:
    from support.auth.authorization_server import AuthorizationServer

JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_JAG: Final = "urn:ietf:params:oauth:token-type:id-jag"
ID_JAG_PROFILE: Final = "urn:ietf:params:oauth:grant-profile:id-jag"
ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"

# A workload needs no registered client (SEP-1933).
_WORKLOAD: Final = Client(client_id="workload", grant_types=(JWT_BEARER,))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedIssuer:
    """An issuer whose assertions are exchanged for tokens: a platform or an identity provider."""

    issuer: str
    keys: KeySet


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The client, user and limits of a token."""

    client: Client
    scopes: tuple[str, ...] = ()
    resource: str | None = None
    subject: str | None = None
    redirect_uri: str | None = None
    challenge: str | None = None
    key: str | None = None
    """The thumbprint of the key that the token is bound to."""


class TokenEndpoint:
    """The issued tokens of a server, and its endpoints for tokens and introspection."""

    def __init__(self, server: "AuthorizationServer") -> None:
        self._server = server
        self._numbers = count(1)
        self.codes: dict[str, Grant] = {}
        self.refresh_tokens: dict[str, Grant] = {}
        self.revoked: set[str] = set()
        """Access tokens that introspection does not know any more."""
        self._assertions: set[str] = set()
        self._answers: Mapping[str, Callable[[Request, Mapping[str, str]], Response]] = {
            "authorization_code": self._by_code,
            "refresh_token": self._by_refresh_token,
            "client_credentials": self._by_credentials,
            JWT_BEARER: self._by_assertion,
            TOKEN_EXCHANGE: self._by_exchange,
        }

    @property
    def grant_types(self) -> list[str]:
        return [name for name in self._answers if self._server.setup.trusted or "urn" not in name]

    @property
    def grant_profiles(self) -> list[str] | None:
        return [ID_JAG_PROFILE] if self._server.setup.trusted else None

    def answer(self, request: Request) -> Response:
        """Return the answer to a token request (RFC 6749, section 3.2)."""
        form = request.form
        kind = request.headers.get("content-type", "").partition(";")[0]
        if request.method != "POST" or kind != "application/x-www-form-urlencoded":
            raise Fault("invalid_request", "the body must be a form")
        if form.get("grant_type") not in self.grant_types:
            raise Fault("unsupported_grant_type", "")
        return self._answers[form["grant_type"]](request, form)

    def code(self, grant: Grant) -> str:
        """Return an authorization code for a grant, valid once."""
        code = f"code-{next(self._numbers)}"
        self.codes[code] = grant
        return code

    def resource_in(self, asked: Mapping[str, str]) -> str | None:
        """Return the requested resource (RFC 8707, section 2)."""
        resource = asked.get("resource")
        absolute = resource is not None and "://" in resource and "#" not in resource
        if not absolute and (resource is not None or self._server.behaviour.resource_required):
            raise Fault("invalid_target", "resource must be an absolute URI")
        return resource

    def access_token(self, grant: Grant, claims: Mapping[str, Any] | None = None) -> str:
        """Return a JWT as an access token (RFC 9068)."""
        now = int(self._server.now())
        members = {
            "iss": self._server.issuer,
            "aud": grant.resource,
            "sub": grant.subject or grant.client.client_id,
            "client_id": grant.client.client_id,
            "scope": " ".join(grant.scopes),
            "iat": now,
            "exp": now + self._server.behaviour.lifetime,
            "jti": f"token-{next(self._numbers)}",
            "cnf": {"jkt": grant.key} if grant.key else None,
        }
        wanted = replace_members(
            replace_members(members, self._server.behaviour.claims), claims or {}
        )
        return sign_token(wanted, self._server.keys[0], {"typ": "at+jwt"})

    def _by_code(self, request: Request, form: Mapping[str, str]) -> Response:
        client, key = self._client(request, form), self._key(request)
        grant = self.codes.pop(form.get("code", ""), None)
        if grant is None:
            raise Fault("invalid_grant", "the code is not valid, or not any more")
        wrong = {
            "client": grant.client.client_id != client.client_id,
            "redirect_uri": grant.redirect_uri != form.get("redirect_uri"),
            "code_verifier": not 43 <= len(form.get("code_verifier", "")) <= 128
            or digest(form["code_verifier"]) != grant.challenge,
            "resource": self.resource_in(form) != grant.resource,
            "key": grant.key not in (None, key),
        }
        return self._issue(grant, wrong, key, lasting=True)

    def _by_refresh_token(self, request: Request, form: Mapping[str, str]) -> Response:
        client, key = self._client(request, form), self._key(request)
        token = form.get("refresh_token", "")
        grant = self.refresh_tokens.get(token)
        if grant is None:
            raise Fault("invalid_grant", "the refresh token is not valid, or not any more")
        if self._server.behaviour.refresh == "rotating":
            del self.refresh_tokens[token]
        scopes = tuple(form.get("scope", " ".join(grant.scopes)).split())
        wrong = {
            "client": grant.client.client_id != client.client_id,
            "resource": self.resource_in(form) not in (None, grant.resource),
            "scope": not set(scopes) <= set(grant.scopes),
            # A public client's refresh token is bound to its key (RFC 9449, section 5).
            "key": client.auth_method == "none" and grant.key != key,
        }
        return self._issue(replace(grant, scopes=scopes), wrong, key, lasting=True)

    def _by_credentials(self, request: Request, form: Mapping[str, str]) -> Response:
        client = self._client(request, form)
        scopes = tuple(form.get("scope", "").split())
        wrong = {"client": client.auth_method == "none"}
        grant = Grant(client=client, scopes=scopes, resource=self.resource_in(form))
        return self._issue(grant, wrong, self._key(request))

    def _by_assertion(self, request: Request, form: Mapping[str, str]) -> Response:
        """RFC 7523, section 2.1: an ID-JAG of an identity provider, or the JWT of a platform."""
        assertion = form.get("assertion", "")
        claims = self._read_assertion(assertion, self._audiences())
        is_id_jag = header_of(assertion).get("typ") == "oauth-id-jag+jwt"
        client = self._client(request, form) if is_id_jag else _WORKLOAD
        scopes = form.get("scope", claims.get("scope", "")).split()
        wrong = {
            "client_id": is_id_jag and claims.get("client_id") != client.client_id,
            "jti": is_id_jag and not self._is_new(claims),
            "scope": is_id_jag and not set(scopes) <= set(claims.get("scope", "").split()),
        }
        resource = claims.get("resource") if is_id_jag else self.resource_in(form)
        grant = Grant(client=client, scopes=tuple(scopes), resource=resource, subject=claims["sub"])
        return self._issue(grant, wrong, self._key(request))

    def _by_exchange(self, request: Request, form: Mapping[str, str]) -> Response:
        """RFC 8693: an ID-JAG for the ID token of a user, at an identity provider."""
        client = self._client(request, form)
        wrong = {
            "requested_token_type": form.get("requested_token_type") != ID_JAG,
            "subject_token_type": form.get("subject_token_type") != ID_TOKEN,
            "audience": not form.get("audience"),
        }
        self._refuse(wrong)
        user = self._read_assertion(form.get("subject_token", ""), frozenset({client.client_id}))
        now = int(self._server.now())
        claims = {
            "iss": self._server.issuer,
            "sub": user["sub"],
            "aud": form["audience"],
            "resource": form.get("resource"),
            "client_id": client.metadata.get("id_jag_client_id", client.client_id),
            "jti": f"id-jag-{next(self._numbers)}",
            "iat": now,
            "exp": now + self._server.behaviour.lifetime,
            "scope": form.get("scope"),
        }
        token = sign_token(
            replace_members(claims, {}), self._server.keys[0], {"typ": "oauth-id-jag+jwt"}
        )
        return self._token_response(
            {
                "access_token": token,
                "issued_token_type": ID_JAG,
                "token_type": "N_A",
                "expires_in": self._server.behaviour.lifetime,
                "scope": form.get("scope"),
            }
        )

    def introspect(self, request: Request) -> Response:
        """Return the claims of a token to a client that may introspect (RFC 7662)."""
        client = self._client(request, request.form)
        token = request.form.get("token", "")
        try:
            claims = verify_token(token, KeySet([*self._server.keys]))
        except Fault:
            claims = {}
        valid = claims.get("exp", 0) > self._server.now() and token not in self.revoked
        if client.auth_method == "none" or not valid:
            return json_response({"active": False})
        return json_response({"active": True, "token_type": "Bearer", **claims})

    def _client(self, request: Request, form: Mapping[str, str]) -> Client:
        now = self._server.now()
        client = self._server.clients.authenticate(request, form, self._audiences(), now)
        wanted = form.get("grant_type")
        if wanted is not None and wanted not in client.grant_types:
            raise Fault("unauthorized_client", f"not registered for {wanted}")
        return client

    def _audiences(self) -> frozenset[str]:
        return frozenset({self._server.issuer, self._server.url("token")})

    def _key(self, request: Request) -> str | None:
        if "dpop" in request.headers:
            return self._server.proofs.key(request, self._server.now())
        if self._server.behaviour.dpop_required:
            raise Fault("invalid_dpop_proof", "a proof is needed")
        return None

    def _read_assertion(self, assertion: str, audiences: frozenset[str]) -> dict[str, Any]:
        """Return the claims of a trusted issuer's assertion for one of these audiences."""
        try:
            issuer = claims_of(assertion).get("iss")
        except (ValueError, KeyError) as error:
            raise Fault("invalid_grant", "the assertion is malformed") from error
        found = [trusted for trusted in self._server.setup.trusted if trusted.issuer == issuer]
        if not found:
            raise Fault("invalid_grant", "the issuer is not trusted")
        claims = verify_token(assertion, found[0].keys)
        audience = claims.get("aud")
        named = {audience} if isinstance(audience, str) else set(audience or ())
        wrong = {"aud": not named & audiences, "exp": claims.get("exp", 0) <= self._server.now()}
        self._refuse(wrong)
        return claims

    def _is_new(self, claims: Mapping[str, Any]) -> bool:
        jti = str(claims.get("jti", ""))
        is_new = bool(jti) and jti not in self._assertions
        self._assertions.add(jti)
        return is_new

    def _refuse(self, wrong: Mapping[str, bool]) -> None:
        names = [name for name, is_wrong in wrong.items() if is_wrong]
        if names:
            raise Fault("invalid_grant", f"wrong: {', '.join(names)}")

    def _issue(
        self, grant: Grant, wrong: Mapping[str, bool], key: str | None, lasting: bool = False
    ) -> Response:
        self._refuse(wrong)
        behaviour = self._server.behaviour
        kept = tuple(scope for scope in grant.scopes if scope not in behaviour.withheld)
        grant = replace(grant, scopes=kept, key=key)
        members: dict[str, Any] = {
            "access_token": self.access_token(grant),
            "token_type": "DPoP" if key else "Bearer",
            "expires_in": behaviour.lifetime,
            "scope": " ".join(grant.scopes) or None,
        }
        if lasting and behaviour.refresh != "never" and "refresh_token" in grant.client.grant_types:
            token = f"refresh-{next(self._numbers)}"
            self.refresh_tokens[token] = grant
            members["refresh_token"] = token
        return self._token_response(members)

    def _token_response(self, members: Mapping[str, Any]) -> Response:
        return json_response(replace_members(members, self._server.behaviour.issued))
