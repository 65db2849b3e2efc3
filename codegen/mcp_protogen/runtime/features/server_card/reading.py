"""Server cards of others: read, and used to connect.

A card is untrusted: its size and redirects are bounded, and what it names is checked like its own
URL. Nothing in it decides about access (docs/discovery.md, "Consistency with Runtime Behavior").
"""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

from ...client.base import ClientBase
from ...core.documents import PublishedDocument
from ...core.errors import ProtocolError
from ...core.json import is_array, is_object, read_json
from ...core.models.base import WireModel
from ...core.revision import load_generated
from ...http.client.authorization import HttpAuthorization
from ...http.client.connect import HttpSource, open_http
from ...http.httpx2 import httpx2
from ...rules.handlers import extended_by
from ...transports.base import Opener, Transport
from .card import CardError, CardMissing, check_card

CardT = TypeVar("CardT", bound=WireModel)

_NO_INPUTS: Final[Mapping[str, str]] = {}
_VARIABLE: Final = re.compile(r"\{([a-zA-Z_][a-zA-Z0-9_]*)\}")
_USUAL: Final = "streamable-http"

# Fields that say where a message goes and ends (RFC 9110, sections 7.2 and 7.6.1; RFC 9112).
_FRAMING: Final = frozenset(
    {"connection", "content-length", "host", "te", "transfer-encoding", "upgrade"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry(Generic[CardT]):
    """A server in a catalogue: the URL of its card, or the card itself."""

    identifier: str
    url: str | None
    card: CardT | None


class ReadsCard(ClientBase, Generic[CardT]):
    """A client that finds servers by their cards.

    `policy` is a `FetchPolicy`, by default the usual one.
    """

    DOCUMENTS: ClassVar[Mapping[str, PublishedDocument]]
    MODELS: ClassVar[ModuleType]

    @classmethod
    async def read_card(cls, url: str, *, policy: Any = None) -> CardT:
        """Return the card at a URL, or that of the endpoint there; raise `CardError`."""
        card: CardT = (await _Reader(cls, policy).find(url))[1]
        return card

    @classmethod
    async def read_catalog(cls, url: str, *, policy: Any = None) -> list[CatalogEntry[CardT]]:
        """Return the servers in the catalogue of a host; raise `CardError`.

        `url` is any URL of the host, or that of the catalogue.
        """
        return [entry async for entry in _Reader(cls, policy).entries(url)]

    @classmethod
    def open_card(
        cls,
        url: str,
        *,
        inputs: Mapping[str, str] = _NO_INPUTS,
        policy: Any = None,
        http: HttpSource = None,
        headers: Mapping[str, str] | None = None,
        auth: HttpAuthorization | None = None,
    ) -> Opener:
        """Return an opener for `connect`, for the server that a card describes.

        `url` is as in `read_card`; `inputs` are the values of the card's header fields and
        variables, by name. `http`, `headers` and `auth` are those of `open_http`. Opening raises
        `CardError` if the card is invalid, names no endpoint that may be reached, or needs further
        inputs.
        """
        reader = _Reader(cls, policy)

        async def open() -> Transport:
            place, card = await reader.find(url)
            remote = reader.choose(place, card)
            endpoint, fields = _Inputs(place, inputs).fill_in(remote)
            await reader.check(place, endpoint, resolves=http is None)
            whole = {**fields, **(headers or {})}
            own = "authorization" in map(str.lower, whole)
            try:
                opener = open_http(endpoint, http=http, headers=whole, auth=None if own else auth)
            except ValueError as error:
                raise CardError(f"the card {_safe(place)}: {error}") from error
            return await opener()

        return open

    def differences(self, card: CardT) -> list[str]:
        """Return the members of the server's `info` that differ from a card."""
        info: WireModel | None = cast(Any, self).server_info
        known, said = {} if info is None else info.to_wire(), card.to_wire()
        return sorted(name for name in known.keys() & said.keys() if known[name] != said[name])


class _Reader:
    def __init__(self, cls: type[ReadsCard[Any]], policy: Any) -> None:
        generated, *_ = extended_by(cls)
        self._package: Any = load_generated(generated.__module__.rsplit(".", 4)[0])
        self._policy = policy or self._package.FetchPolicy()
        self._fetch = self._package.Fetcher(self._policy)
        self._model: Any = cls.MODELS.ServerCard
        self._card, self._catalog = cls.DOCUMENTS["card"], cls.DOCUMENTS["catalog"]
        self._known: dict[str, tuple[str, Any]] = {}

    async def find(self, url: str) -> tuple[str, Any]:
        """Return the card and its URL."""
        places = _places(url, self._card)
        for place in places:
            if (found := await self._get(place, self._card)) is not None:
                return place, self._read(found, _safe(place))
        tried = " and ".join(map(_safe, places))
        raise CardMissing(f"no server card was found at {tried}")

    async def entries(self, url: str) -> AsyncIterator[CatalogEntry[Any]]:
        """Yield the entries for servers in a catalogue."""
        place = _places(url, self._catalog)[0]
        found = await self._get(place, self._catalog)
        entries = found.get("entries") if is_object(found) else None
        if not is_array(entries):
            raise CardError(f"no catalogue was found at {_safe(place)}")
        for number, entry in enumerate(entries):
            if not is_object(entry) or entry.get("type") != self._card.media_type:
                continue
            name, at, data = entry.get("identifier"), entry.get("url"), entry.get("data")
            where = f"{_safe(place)}#/entries/{number}"
            if not isinstance(name, str) or isinstance(at, str) == is_object(data):
                raise CardError(f"{where}: a server needs an identifier, and either url or data")
            target = await self.check(place, at) if isinstance(at, str) else None
            card = self._read(data, where) if target is None else None
            yield CatalogEntry(identifier=name, url=target, card=card)

    def _read(self, value: Any, where: str) -> Any:
        check_card(value, self._card, where)
        return self._model.from_wire(value)

    async def _get(self, url: str, document: PublishedDocument) -> Any:
        """Return the JSON value at a URL; None without a document."""
        tag, value = self._known.get(url, ("", None))
        headers = {"accept": document.media_type, **({"if-none-match": tag} if tag else {})}
        try:
            fetched = await self._fetch(self._package.Fetch(url=url, headers=headers))
        except ProtocolError as error:
            raise CardError(str(error)) from error
        if fetched.status == 304 and tag:
            return value
        if not fetched.is_document:
            return None
        try:
            value = read_json(fetched.body)
        except ValueError as error:
            raise CardError(f"{_safe(url)} is not JSON: {error}") from None
        if found := fetched.headers.get("etag"):
            self._known[url] = found, value
        return value

    def choose(self, place: str, card: Any) -> Any:
        """Return the endpoint whose transport and revisions fit best."""
        spoken = {revision.id for revision in self._package.REVISIONS}

        def rank(remote: Any) -> tuple[bool, bool]:
            said = remote.supported_protocol_versions
            return remote.type != _USUAL, bool(said) and spoken.isdisjoint(said)

        if not card.remotes:
            raise CardError(f"the card {_safe(place)} names no endpoint")
        return min(card.remotes, key=rank)

    async def check(self, place: str, named: str, *, resolves: bool = False) -> str:
        """Return a URL that is named at a place; raise `CardError` if it must not lead there."""
        names = f"{_safe(place)} names {_safe(named):.200}"
        try:
            base = httpx2().URL(place)
            url = base.join(named)
            zone = self._policy.zone(url)
            if zone not in ("public", self._policy.zone(base)):
                raise CardError(f"{names}, which is not public")
            if resolves:
                await self._fetch.look_up(url, zone)
        except (ProtocolError, OSError, UnicodeError, httpx2().InvalidURL) as error:
            raise CardError(f"{names}: {error}") from error
        return str(url)


class _Inputs:
    """What a card leaves to the user: variables and header fields, by name."""

    def __init__(self, place: str, given: Mapping[str, str]) -> None:
        self._place = _safe(place)
        self._given = given

    def fill_in(self, remote: Any) -> tuple[str, Mapping[str, str]]:
        """Return the URL and the header fields of an endpoint; raise `CardError`."""
        url, missing = self._fill(remote.url, remote.variables or {})
        fields: dict[str, str] = {}
        for header in remote.headers or ():
            if header.name.lower() in _FRAMING:
                raise CardError(f"the card {self._place} sets {header.name}, as only clients may")
            value, lacks = self._value(header.name, header)
            if not lacks:
                fields[header.name] = value
            elif header.is_required:
                missing |= lacks
        if missing:
            names = "; ".join(f"{name}{about}" for name, about in missing.items())
            raise CardError(f"the card {self._place} asks for inputs: {names:.500}")
        return url, fields

    def _value(self, name: str, input: Any) -> tuple[str, dict[str, str]]:
        """Return the value of an input, and what it lacks."""
        if input.value is not None:
            return self._fill(input.value, getattr(input, "variables", None) or {})
        value: str | None = self._given.get(name) or input.default
        about = f" ({input.description!r:.100})" if input.description else ""
        if value is None:
            return "", {name: about}
        if input.choices and value not in input.choices:
            raise CardError(f"the card {self._place}: {name} must be one of {input.choices!r:.200}")
        return value, {}

    def _fill(self, template: str, variables: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        missing: dict[str, str] = {}

        def replace(variable: re.Match[str]) -> str:
            name = variable[1]
            if name in variables:
                value, lacks = self._value(name, variables[name])
                missing.update(lacks)
                return value
            if name not in self._given:
                missing[name] = ""
            return self._given.get(name, "")

        return _VARIABLE.sub(replace, template), missing


def _places(url: str, document: PublishedDocument) -> list[str]:
    try:
        return [url] if document.is_at(url) else [document.beside(url), url]
    except ValueError as error:
        raise CardError(f"{_safe(url)!r:.200} is not a URL: {error}") from None


def _safe(url: str) -> str:
    # Its query may be secret.
    return url.partition("?")[0].partition("#")[0]
