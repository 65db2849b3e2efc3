"""The variables of templates, which `read` and typed clients ask for."""

from mcp_protogen.servers.call.templates import uri_variables


def test_variables_are_listed_once_and_needed_unless_they_are_in_a_query() -> None:
    found = uri_variables("x:{a}{?b,a,tags*}{&c:3}")
    assert [
        (variable.name, variable.required, variable.exploded) for variable in found.values()
    ] == [
        ("a", True, False),
        ("b", False, False),
        ("tags", False, True),
        ("c", False, False),
    ]
