"""Errors that only some requests can get."""

from collections.abc import Mapping
from logging import getLogger
from typing import Any, Final

from ..core.errors import INTERNAL_ERROR, McpError, ProtocolError
from ..core.middleware import CallNext, MethodCall, Middleware

_log: Final = getLogger(__name__)


def with_key_only(keys: Mapping[int, str]) -> Middleware:
    """Return a middleware that lets requests without a key of `_meta` fail otherwise.

    `keys` has that key by the code of the error.
    """

    async def check(call: MethodCall, next: CallNext) -> Any:
        try:
            return await next(call)
        except ProtocolError as error:
            key = keys.get(error.code)
            if key is None or key in call.meta:
                raise
            _log.warning("%s without %s cannot get the error %d", call.method, key, error.code)
            raise McpError(INTERNAL_ERROR, "Internal error") from error

    return check
