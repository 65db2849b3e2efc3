"""Parts of a result, in notifications before it."""

from typing import NamedTuple


class Parts(NamedTuple):
    """The notification with a part, and the requests that may ask for parts.

    Its members `token` and `number` have the token of the request and the number of the part. The
    key of `_meta` by which a request asks for parts is called like the token.
    """

    method: str
    token: str
    number: str
    requests: frozenset[str] = frozenset()
