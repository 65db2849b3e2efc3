"""Server cards, read and written (ext-server-card, docs/discovery.md)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ...core.documents import PublishedDocument
from ...core.errors import Problem
from ...core.json import JSONObject, is_array, is_object

_HINTS: Final[Mapping[str, str]] = {
    "/name": ": write a domain in reverse order, a slash and a word, as in com.example/weather",
    "/description": ": say what the server does, in at most 100 characters",
}
_SHOWN: Final = 5


class CardError(ValueError):
    """A server card that cannot be made, read or used."""


class CardMissing(CardError):
    """A URL without a server card."""


def check_card(card: Any, document: PublishedDocument, owner: str) -> None:
    """Raise `CardError` unless a JSON value is a valid card that tells no secret."""
    if found := [*document.problems(card), *secrets_in(card)]:
        reasons = [
            f"{pointer or 'the card'}: {message}{_HINTS.get(pointer, '')}"
            for pointer, message in found[:_SHOWN]
        ]
        raise CardError(f"the server card of {owner} is invalid: {'; '.join(reasons)}")


def secrets_in(card: Any) -> Iterator[Problem]:
    """Yield the values of secret inputs, which no public document may have."""
    remotes = card.get("remotes") if is_object(card) else None
    for number, remote in enumerate(remotes if is_array(remotes) else ()):
        for pointer, input in _inputs(remote, f"/remotes/{number}"):
            # Names in braces stand for what the user gives.
            shown = [str(input[key]) for key in ("value", "default") if input.get(key)]
            if input.get("isSecret") is True and any("{" not in text for text in shown):
                yield Problem(pointer, "a card is public: leave out the value of a secret input")


def _inputs(owner: Any, pointer: str) -> Iterator[tuple[str, JSONObject]]:
    if not is_object(owner):
        return
    variables, headers = owner.get("variables"), owner.get("headers")
    inside: list[tuple[str, Any]] = []
    if is_object(variables):
        inside += [(f"{pointer}/variables/{name}", value) for name, value in variables.items()]
    if is_array(headers):
        inside += [(f"{pointer}/headers/{at}", value) for at, value in enumerate(headers)]
    for at, value in inside:
        if is_object(value):
            yield at, value
            yield from _inputs(value, at)


def catalog_of(
    names: Iterable[tuple[str, str]], catalog: PublishedDocument, card: PublishedDocument
) -> JSONObject:
    """Return a catalogue of cards, each by the name of its server and its URL."""
    content = dict(catalog.content)
    (entry,) = content["entries"]
    entries: list[JSONObject] = []
    for name, url in names:
        namespace, _, word = name.partition("/")
        publisher = ".".join(reversed(namespace.split(".")))
        filled = {"publisher": publisher, "name": word, "media_type": card.media_type, "url": url}
        entries.append({key: _fill(text, filled) for key, text in entry.items()})
    return {**content, "entries": entries}


def _fill(template: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template
