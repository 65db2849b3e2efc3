"""The types of JSON in tests."""

from typing import Any, TypeAlias

Json: TypeAlias = Any
"""JSON as it was read: a test looks into it, and fails where it has another shape."""
JsonObject: TypeAlias = dict[str, Json]
