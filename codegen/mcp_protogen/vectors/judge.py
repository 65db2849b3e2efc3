"""What the schema accepts, decided by `jsonschema`, which knows nothing of how values were made."""

from collections.abc import Callable
from typing import Any

from jsonschema.validators import validator_for

from mcp_protogen.vectors.subjects import Topic

Json = dict[str, Any]


class Judge:
    """Says whether values are right; formats are annotations, as the schemas mean them."""

    def __init__(self, document: Json) -> None:
        self._document = document
        self._dialect: Any = validator_for(document)

    def of(self, topic: Topic) -> Callable[[Any], bool]:
        """Whether a value is one of this topic; to be asked for once and used for all values."""
        validator = self._dialect({**self._document, **topic.schema})
        is_valid: Callable[[Any], bool] = validator.is_valid
        return is_valid
