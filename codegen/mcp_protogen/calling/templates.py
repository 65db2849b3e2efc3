"""URIs of resources from templates, with the arguments that fill them in."""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.suggest import did_you_mean

_EXPRESSION: Final = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
# RFC 6570, section 2.2 and appendix A: before the first value, between values, whether values
# stand beside their names, and which characters stay as they are.
_OPERATORS: Final[Mapping[str, tuple[str, str, bool, str]]] = {
    "": ("", ",", False, ""),
    "+": ("", ",", False, ":/?#[]@!$&'()*+,;="),
    "#": ("#", ",", False, ":/?#[]@!$&'()*+,;="),
    ".": (".", ".", False, ""),
    "/": ("/", "/", False, ""),
    ";": (";", ";", True, ""),
    "?": ("?", "&", True, ""),
    "&": ("&", "&", True, ""),
}


def variables(template: str) -> list[str]:
    """Return the names in a URI template, in their order."""
    return [name for _, listed in _EXPRESSION.findall(template) for name in _names(listed)]


def expanded(template: str, words: Sequence[str]) -> str:
    """Return the URI of a template with `name=value` words (RFC 6570, up to level 3).

    Raise `ProblemError` (`wrong-argument`) for words that do not fit it. A name in a query may be
    left out, any other has to have a value.
    """
    known, values = variables(template), dict[str, str]()
    for word in words:
        name, separated, value = word.partition("=")
        if not separated or name not in known:
            hint = did_you_mean(name, known, f"arguments: {', '.join(known) or 'none'}")
            raise _wrong(template, f"{word!r:.60} is no argument of the URI", hint)
        values[name] = value

    def fill(found: re.Match[str]) -> str:
        first, between, named, kept = _OPERATORS[found[1]]
        parts: list[str] = []
        for name in _names(found[2]):
            if name in values:
                text = quote(values[name], safe=kept)
                parts.append(f"{name}={text}" if named else text)
            elif found[1] not in ("?", "&"):
                raise _wrong(template, f"{name}: it is missing", f"add {name}=…")
        return first + between.join(parts) if parts else ""

    return _EXPRESSION.sub(fill, template)


def _names(listed: str) -> list[str]:
    return [name.rstrip("*").partition(":")[0] for name in listed.split(",") if name]


def _wrong(template: str, message: str, hint: str) -> ProblemError:
    return ProblemError(Problem("wrong-argument", message, template, hint=hint))
