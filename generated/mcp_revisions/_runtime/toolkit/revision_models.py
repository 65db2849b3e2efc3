"""The models of one revision that a toolkit uses, found in the revision's method table.

A toolkit is written once, for all revisions. What a revision has no member for is left out: the
first revisions have neither titles of tools nor structured content.
"""

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Final, TypeAlias

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ..core.json import JSONObject
from ..core.models.base import BUILDING, WireModel, required_constants
from ..core.models.validation_errors import problems
from ..messages.method_table import MethodTable
from ..messages.writing import classes_in
from .decorators import Mark

Models: TypeAlias = frozenset[type[WireModel]]

_CALL: Final = "tools/call"


class RevisionModels:
    """The models of one revision that a toolkit makes."""

    def __init__(self, table: MethodTable) -> None:
        self._table = table
        self.rules = table.rules

    def result(self, method: str) -> type[Any]:
        """Return the class of the plain result of a request."""
        return self._table.requests[method].results[0]

    def result_classes(self, method: str) -> tuple[type[Any], ...]:
        """Return the classes of all results that may answer a request."""
        return self._table.requests[method].results

    @cached_property
    def call_results(self) -> Models:
        """The classes of results that may answer the call of a tool."""
        return frozenset(self.result_classes(_CALL))

    @cached_property
    def blocks(self) -> Models:
        """The classes of content blocks in the result of a tool."""
        return models_in(self.result(_CALL), "content")

    @cached_property
    def call_result(self) -> type[Any]:
        """The class of the result of a tool."""
        return self.result(_CALL)

    @cached_property
    def text(self) -> type[Any]:
        """The class of a text block."""
        constants = ((block, required_constants(block)) for block in self.blocks)
        return next(block for block, fixed in constants if fixed.get("type") == "text")

    @cached_property
    def has_structured(self) -> bool:
        """Return whether results may be structured (from 2025-06-18 on)."""
        return "structured_content" in fields_of(self.result(_CALL))

    @cached_property
    def has_any_structured(self) -> bool:
        """Return whether structured content may be any JSON value (from 2026-07-28 on)."""
        result = fields_of(self.result(_CALL))
        return self.has_structured and result["structured_content"].annotation is Any

    @cached_property
    def message(self) -> type[Any]:
        """The class of a message of a prompt."""
        (message,) = models_in(self.result("prompts/get"), "messages")
        return message

    @cached_property
    def message_blocks(self) -> Models:
        """The classes of content blocks in a message of a prompt."""
        return models_in(self.message, "content")

    @cached_property
    def contents(self) -> Models:
        """The classes of resource contents."""
        return models_in(self.result("resources/read"), "contents")

    def contents_with(self, member: str) -> type[Any]:
        """Return the class of resource contents with the member text or blob."""
        return next(one for one in self.contents if member in fields_of(one))

    def said(self, text: str) -> Any:
        """Return the result of a tool with one text block."""
        return self.call_result(content=[self.text(text=text)])

    def structured(self, text: str, content: Any) -> Any:
        """Return the result of a tool with structured content, and the same as text."""
        return self.call_result(content=[self.text(text=text)], structured_content=content)

    def failed(self, text: str) -> Any:
        """Return the result of a tool that failed, with a text for the model."""
        return self.call_result(content=[self.text(text=text)], is_error=True)


@cache
def revision_models(table: MethodTable) -> RevisionModels:
    """Return the models of the revision of a table."""
    return RevisionModels(table)


def fields_of(model: type[WireModel]) -> Mapping[str, Any]:
    """Return the fields of a class, by their names in Python."""
    with BUILDING:
        model.model_rebuild()
    return model.model_fields


def models_in(model: type[WireModel], field: str) -> Models:
    """Return the model classes that a field may hold, directly or in a list."""
    expression = fields_of(model)[field].annotation
    return frozenset(one for one in classes_in(expression) if issubclass(one, WireModel))


def listed(model: type[WireModel], where: str, mark: Mark, **members: Any) -> Any:
    """Return the entry of a list, with the members of the mark that the revision knows."""
    said: JSONObject = {
        **members,
        "title": mark.title,
        "icons": None if mark.icons is None else [icon.to_wire() for icon in mark.icons],
        "_meta": None if mark.meta is None else dict(mark.meta),
    }
    known = {field.alias or name for name, field in fields_of(model).items()}
    kept = {key: value for key, value in said.items() if value is not None and key in known}
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


def wire_of(model: WireModel | None) -> JSONObject | None:
    """Return a model as JSON, or None."""
    return None if model is None else model.to_wire()


def several(value: Any) -> list[Any]:
    """Return the items of a list or tuple, or a list of the value itself."""
    many: bool = isinstance(value, (list, tuple))
    return [*value] if many else [value]
