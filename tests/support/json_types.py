"""The types of JSON in tests, and JSON from files."""

import json
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""JSON as it was read: a test looks into it, and fails where it has another shape."""
JsonObject: TypeAlias = dict[str, Json]


def read_json(file: Path) -> Json:
    return json.loads(file.read_bytes())
