"""The fields of a form that not every revision has, as those show them that have fewer kinds."""

from .json import JSONObject


def labels_beside(field: JSONObject) -> JSONObject:
    """Return a choice whose labels are beside its values, as in the first forms."""
    choices = field["oneOf"]
    plain = {key: value for key, value in field.items() if key != "oneOf"}
    plain["enum"] = [choice["const"] for choice in choices]
    plain["enumNames"] = [choice["title"] for choice in choices]
    return plain


def several_as_text(field: JSONObject) -> JSONObject:
    """Return a field for a text in place of one for several choices."""
    items: JSONObject = field["items"]
    choices = ", ".join(items["enum"] if "enum" in items else (c["const"] for c in items["anyOf"]))
    hint = f"Any of these, separated by commas: {choices}"
    description = f"{field['description']} {hint}" if field.get("description") else hint
    plain: JSONObject = {"type": "string", "description": description}
    if "title" in field:
        plain["title"] = field["title"]
    return plain
