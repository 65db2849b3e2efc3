"""URIs from templates, by the rules of RFC 6570."""

import pytest
from mcp_protogen.runtime.core.uri_expansion import expanded_uri
from support.tables import case

VALUES = {
    "word": "a b",
    "path": "/x/y",
    "half": "50%",
    "coded": "%2F",
    "empty": "",
    "list": ["r", "g&"],
    "none": [],
}


def test_every_operator_writes_its_values() -> None:
    for template, wanted in (
        ("x:{word}", "x:a%20b"),
        ("x:{path},{+path}", "x:%2Fx%2Fy,/x/y"),
        ("x:{+half}{+coded}{coded}", "x:50%25%2F%252F"),
        ("x:{#path}", "x:#/x/y"),
        ("x:{.word,path}", "x:.a%20b.%2Fx%2Fy"),
        ("x:{/word,empty}", "x:/a%20b/"),
        ("x:{;word,empty}", "x:;word=a%20b;empty"),
        ("x:{?word,missing,empty}", "x:?word=a%20b&empty="),
        ("x:y?z=1{&word}", "x:y?z=1&word=a%20b"),
        ("x:{?missing}", "x:"),
        ("x:{path:2}", "x:%2Fx"),
        ("x:{list}", "x:r,g%26"),
        ("x:{/list*}", "x:/r/g%26"),
        ("x:{?list*}", "x:?list=r&list=g%26"),
        ("x:{?list}", "x:?list=r,g%26"),
        ("x:{/none*}", "x:"),
        ("x:{?none}", "x:"),
    ):
        with case(template):
            assert expanded_uri(template, VALUES) == wanted
    with pytest.raises(KeyError, match="missing"):
        expanded_uri("x:{/missing}", VALUES)
