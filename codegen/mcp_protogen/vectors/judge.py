"""The verdict of the schema, by `jsonschema`, which does not know how values were made."""

from collections.abc import Callable
from typing import Any

from jsonschema.validators import validator_for

from mcp_protogen.vectors.subjects import Topic

Json = dict[str, Any]


class Judge:
    """A judge of values; formats are annotations, as the schemas intend."""

    def __init__(self, document: Json) -> None:
        self._document = document
        self._dialect: Any = validator_for(document)

    def of(self, topic: Topic) -> Callable[[Any], bool]:
        """Return a function that says whether a value is valid for this topic."""
        validator = self._dialect({**self._document, **topic.schema})
        is_valid: Callable[[Any], bool] = validator.is_valid
        return is_valid
