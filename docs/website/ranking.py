"""The order of search results: sections of the changelog and of tables of codes come last.

zensical ranks matches in titles first, but has no setting that lowers a page. So its script gets
another order, which goes before its own.
"""

import re
from pathlib import Path
from typing import Final

_LAST: Final = r"changelog|generated-artifacts|reference-(codes|texts)|severities-[\w-]+"
"""The pages whose sections come last."""
_ORDER: Final = rf"""(_, documents) => {{
const isLast = (item) => /^({_LAST})\.html#/.test(documents[item.id].location);
return Object.defineProperty(() => (a, b) => isLast(a) - isLast(b), "name", {{ value: "last" }});
}}, """
_ADDED: Final = {
    r"(?<=\bhandlers:\[)(?=\w+=>\w+\(\{fields:)": _ORDER,
    r'(?<=\border:\[)(?=\{type:"match")': '{ type: "last" }, ',
}
"""The additions to the script, by the places where they go."""


def lower(site: Path) -> None:
    """Let the sections come last in the search of a built site.

    Raise `RuntimeError` if the script of zensical has other places.
    """
    (script,) = site.glob("assets/javascripts/workers/search.*.js")
    text = script.read_text(encoding="utf-8")
    for place, added in _ADDED.items():
        parts = re.split(place, text)
        if len(parts) != 2:
            raise RuntimeError(f"{script.name} has changed: adapt {Path(__file__).name} to it")
        text = added.join(parts)
    script.write_text(text, encoding="utf-8")
