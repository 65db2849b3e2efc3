"""JSON objects of others: documents, tokens and stored files."""

from ...core.json import JSONObject, is_object, read_json


def object_in(text: str | bytes) -> JSONObject | None:
    """Return the object in a JSON text; None if it is not one."""
    try:
        value = read_json(text)
    except ValueError:
        return None
    return value if is_object(value) else None
