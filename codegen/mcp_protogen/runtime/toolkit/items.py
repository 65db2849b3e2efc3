"""Decorated functions as items of a list: tools, prompts and resources."""

from asyncio import to_thread
from collections.abc import Mapping
from inspect import isawaitable
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ..core.models.base import WireModel
from ..core.models.validation_errors import problems
from .decorators import Marked
from .revision_models import RevisionModels, fields_of
from .signatures import Function, described, named, signature_of


class Item:
    """A decorated function in one revision; raises `TypeError` if it cannot be used.

    `key` is the name or URI by which clients ask for it.
    """

    listed: Any
    """The entry in the list."""

    def __init__(self, marked: Marked, models: RevisionModels, key: str) -> None:
        self.key = key
        self.models = models
        self.signature = signature_of(marked.function, method=marked.is_method)
        self.description = marked.mark.description or described(marked.function)
        self._marked = marked

    def entry(self, model: type[WireModel], **members: Any) -> Any:
        """Return the entry of a list, with the members that the revision knows."""
        mark, where = self._marked.mark, self.signature.where
        members |= {
            "title": mark.title,
            "description": self.description,
            "icons": None if mark.icons is None else [icon.to_wire() for icon in mark.icons],
            "_meta": None if mark.meta is None else dict(mark.meta),
        }
        known = {field.alias or name for name, field in fields_of(model).items()}
        kept = {key: value for key, value in members.items() if value is not None and key in known}
        try:
            made = model.from_wire(kept)
            # An entry that cannot be written has to fail here, not when a client asks for the list.
            made.to_json()
            return made
        except PydanticSerializationError as error:
            raise TypeError(f"{where}: {error}") from error
        except ValidationError as error:
            wrong = "; ".join(f"{at}: {text}" for at, text in problems(error, kept))
            raise TypeError(f"{where}: {wrong}") from error

    async def run(self, server: object, session: Any, given: Mapping[str, Any]) -> Any:
        """Call the function with the arguments of a client, and return its result."""
        function, mark, _, attribute = self._marked
        if attribute:
            function = getattr(server, attribute)
        if self.signature.sessions:
            given = {**given, **dict.fromkeys(self.signature.sessions, session)}
        returned = (
            await to_thread(_in_thread, function, given) if mark.thread else function(**given)
        )
        return await returned if isawaitable(returned) else returned


def _in_thread(function: Function, given: Mapping[str, Any]) -> Any:
    try:
        return function(**given)
    except StopIteration as error:
        # A future cannot hold StopIteration: whoever waits for the thread would never wake up.
        raise RuntimeError(f"{named(function)} raised StopIteration") from error
