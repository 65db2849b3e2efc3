"""The check of a JSON Schema against its metaschema."""

from collections.abc import Iterator
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_deeper
from mcp_protogen.base.problems import Problem, raise_errors, raising

# A broken file often has many faults; more than this do not help.
_SHOWN = 10

DEEPEST = 60
"""The deepest nesting of arrays and objects in schemas and in files about them.

Published schemas reach 12; validators and Python's parser fail beyond about 100.
"""


def check(schema: dict[str, Any], place: str) -> None:
    """Raise `ProblemError` with the first violations of the schema's dialect."""
    _refuse_unreadable(schema, place)
    from jsonschema.validators import validator_for

    dialect = validator_for(schema)
    errors = dialect(dialect.META_SCHEMA).iter_errors(schema)
    # jsonschema walks through sets, whose order changes from run to run.
    faults = sorted((jsonpointer.join(*error.absolute_path), error.message) for error in errors)
    named = schema.get("$schema")
    hint = f"its dialect is {named}" if named else "without $schema, its dialect is 2020-12"
    raise_errors(
        Problem(
            "not-a-schema",
            f"not valid under its metaschema: {message:.200}",
            place,
            pointer,
            hint,
        )
        for pointer, message in faults[:_SHOWN]
    )


@raising
def _refuse_unreadable(schema: dict[str, Any], place: str) -> Iterator[Problem]:
    if not isinstance(schema.get("$schema", ""), str):
        hint = "the member $schema must be the URI of a JSON Schema draft"
        yield Problem("not-a-schema", "its dialect is not a string", place, "/$schema", hint)
    if is_deeper(schema, DEEPEST):
        message = f"it is nested more than {DEEPEST} levels deep"
        yield Problem("not-a-schema", message, place, hint="give inner schemas names in $defs")
