"""Unknown values of enumerations in results, which pass unchanged within one revision."""

import re
from copy import deepcopy
from typing import Any, Final

from pydantic import ValidationError

from mcp_protogen.runtime.core.json_pointers import steps_of, value_at
from mcp_protogen.runtime.core.models.base import WireModel, shape_of
from mcp_protogen.runtime.core.models.validation_errors import problems
from mcp_protogen.runtime.core.spec import AnyRequest
from mcp_protogen.runtime.core.throttle import Throttle
from mcp_protogen.runtime.messages.codec import Error, Result
from mcp_protogen.runtime.messages.jsonrpc import Response
from mcp_protogen.runtime.messages.method_table import MethodTable

_KNOWN: Final = re.compile("Input should be '([^']*)'")
_MOST: Final = 100


def pass_unknown_values(table: MethodTable, log: Throttle) -> None:
    """Let `table` keep such values, and repair only other results."""
    repair = table.mender
    assert repair is not None

    def read(answer: Response, spec: AnyRequest) -> Result[Any] | Error:
        # A known value takes the place of each while the result is validated.
        value, unknown = deepcopy(answer.result), dict[str, str]()
        for _ in range(_MOST):
            try:
                table.result_reader(spec)(value)
                break
            except ValidationError as error:
                for pointer, text in problems(error, value):
                    known, steps = _KNOWN.match(text), steps_of(pointer, value)
                    given = value_at(value, steps)
                    if known is None or not isinstance(given, str) or not steps:
                        return repair(answer, spec)
                    value_at(value, steps[:-1])[steps[-1]] = known[1]
                    unknown.setdefault(pointer, given)
        else:
            return repair(answer, spec)
        found = table.read_answer(answer._replace(result=value), spec)
        assert isinstance(found, Result)
        for pointer, given in unknown.items():
            log.info("%s: %s is unknown, and passed on", spec.method, pointer)
            _put(found.value, steps_of(pointer, value), given)
        return found

    table.mender = read


def _put(model: Any, steps: tuple[int | str, ...], value: str) -> None:
    for number, step in enumerate(steps, 1):
        members: Any = model
        if isinstance(model, WireModel):
            members, step = vars(model), shape_of(type(model)).names.get(str(step), step)
        if number == len(steps):
            members[step] = value
        model = members[step]
