"""Form fields in the older shapes of revisions that lack a kind of field."""

from .json import JSONObject, without


def labels_beside(field: JSONObject) -> JSONObject:
    """Return a choice with `enum` and `enumNames`, as in the first revisions with forms."""
    choices = field["oneOf"]
    plain = without(field, "oneOf")
    plain["enum"] = [choice["const"] for choice in choices]
    plain["enumNames"] = [choice["title"] for choice in choices]
    return plain


def several_as_text(field: JSONObject) -> JSONObject:
    """Return a text field in place of a multiple choice."""
    items: JSONObject = field["items"]
    choices = ", ".join(items["enum"] if "enum" in items else (c["const"] for c in items["anyOf"]))
    hint = f"Any of these, separated by commas: {choices}"
    description = f"{field['description']} {hint}" if field.get("description") else hint
    plain: JSONObject = {"type": "string", "description": description}
    if "title" in field:
        plain["title"] = field["title"]
    return plain
