"""What an authorization server says about itself, for those who verify its tokens."""

from collections.abc import Mapping
from typing import Any, Final

from ....core.json import is_object, read_json
from ..errors import InvalidMetadata
from ..steps import Fetch, Fetched, Fetching
from ..urls import server_metadata_urls

_JSON: Final = {"accept": "application/json"}


async def server_metadata(issuer: str, fetch: Fetching) -> Mapping[str, Any]:
    """Return the metadata document of an authorization server; raise `AuthorizationError`."""
    for url in server_metadata_urls(issuer):
        answer = await fetch(Fetch(url=url, headers=_JSON))
        if answer.is_document:
            document = read_object(answer)
            # Without normalising (RFC 8414, section 3.3).
            if document.get("issuer") != issuer:
                raise InvalidMetadata(f"the metadata at {url} is that of another issuer")
            return document
    raise InvalidMetadata(f"there is no metadata of {issuer}")


def endpoint(document: Mapping[str, Any], name: str) -> str:
    url = document.get(name)
    if not isinstance(url, str):
        raise InvalidMetadata(f"the metadata of {document['issuer']} has no {name}")
    return url


def read_object(answer: Fetched) -> dict[str, Any]:
    try:
        value = read_json(answer.body)
    except ValueError:
        value = None
    if answer.status != 200:
        raise InvalidMetadata(f"the answer has the status {answer.status}, and not 200")
    if not is_object(value):
        raise InvalidMetadata("the answer is no JSON object")
    return value
