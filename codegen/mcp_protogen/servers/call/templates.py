"""URIs of resources from templates, with the arguments that fill them in."""

from collections.abc import Sequence

from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.runtime.core.uri_expansion import UriVariable, expanded_uri, variables_of
from mcp_protogen.runtime.core.uri_templates import parse_uri_template


def uri_variables(template: str) -> dict[str, UriVariable]:
    """Return the variables of a template by name; the first occurrence counts."""
    found: dict[str, UriVariable] = {}
    for sign, names in parse_uri_template(template)[1]:
        for variable in variables_of(sign, names):
            known = found.setdefault(variable.name, variable)
            found[variable.name] = known._replace(required=known.required or variable.required)
    return found


def variables(template: str) -> list[str]:
    """Return the names in a URI template, in their order."""
    return [*uri_variables(template)]


def expand(template: str, words: Sequence[str]) -> str:
    """Return the URI of a template with `name=value` words (RFC 6570).

    Raise `ProblemError` (`wrong-argument`) for words that do not fit it. A name in a query may be
    left out; any other needs a value.
    """
    known, values = variables(template), dict[str, str]()
    for word in words:
        name, separated, value = word.partition("=")
        if not separated or name not in known:
            hint = did_you_mean(name, known, f"arguments: {', '.join(known) or 'none'}")
            raise _wrong(template, f"{word!r:.60} is not an argument of the URI", hint)
        values[name] = value
    try:
        return expanded_uri(template, values)
    except KeyError as error:
        name = error.args[0]
        raise _wrong(template, f"the argument {name} is missing", f"add {name}=…") from None


def _wrong(template: str, message: str, hint: str) -> ProblemError:
    return ProblemError(Problem("wrong-argument", message, template, hint=hint))
