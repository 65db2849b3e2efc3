"""The contract of templates: the page lists it, and the built-in templates keep to it."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, nodes
from jinja2.meta import find_undeclared_variables
from mcp_protogen.base.resources import templates_folder
from mcp_protogen.pipeline.emit.render import FILTERS, Renderer
from mcp_protogen.pipeline.emit.template_contract import MACROS, NAMES, TEMPLATES
from support import tables
from support.docs import templates_page
from support.docs.pages import anchors, page
from support.docs.templates_page import broken, by_kind, contexts, members, promises, values

FOLDER = templates_folder() / "package"
VARIABLES = {context.__name__: set(context.__annotations__) for context in contexts()}


def parse_template(name: str) -> nodes.Template:
    environment = Environment()
    filters: dict[str, Any] = environment.filters
    filters.update(FILTERS)
    return environment.parse((FOLDER / name).read_text())


def variables_of(name: str) -> set[str]:
    """Return the variables of a template, and those of macros imported with its context."""
    tree = parse_template(name)
    found = find_undeclared_variables(tree)
    for node in tree.find_all(nodes.FromImport):
        if node.with_context and isinstance(node.template, nodes.Const):
            found |= variables_of(str(node.template.value))
    return found


def test_the_page_lists_what_the_code_has() -> None:
    assert page(templates_page.PAGE) == templates_page.fill_page(
        page(templates_page.PAGE)
    ), "PYTHONPATH=tests python -m support.docs.templates_page writes it"


def test_every_template_is_part_of_the_contract() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(NAMES)


def test_everything_in_the_contract_is_documented() -> None:
    for kind in contexts():
        for member in members(kind):
            with tables.case(f"{kind.__name__}.{member.name}"):
                assert member.text.endswith(".") and member.text[0].isupper()
    everything: list[Any] = [*contexts(), *values(), *FILTERS.values()]
    for described in everything:
        with tables.case(described.__name__):
            assert templates_page.summary(described).endswith((".", ":"))
    for text in (*NAMES.values(), *(text for macros in MACROS for text in macros.macros.values())):
        assert text
    assert {name.lower() for name in VARIABLES} <= anchors(page(templates_page.PAGE))


def test_templates_use_what_they_get_and_nothing_else() -> None:
    for template in TEMPLATES:
        with tables.case(template.name):
            assert variables_of(template.name) <= VARIABLES[template.context.__name__]
    for macros in MACROS:
        offered = VARIABLES[macros.context.__name__] if macros.context else set[str]()
        with tables.case(macros.name):
            assert variables_of(macros.name) <= offered


def test_contract_promises_only_variables_that_templates_use() -> None:
    needed: dict[str, set[str]] = {}
    for template in TEMPLATES:
        needed.setdefault(template.context.__name__, set()).update(variables_of(template.name))
    for name, variables in needed.items():
        with tables.case(name):
            assert VARIABLES[name] - variables == set()
    filters = {node.name for name in NAMES for node in parse_template(name).find_all(nodes.Filter)}
    # As strings, in filters such as `map`.
    texts = {node.value for name in NAMES for node in parse_template(name).find_all(nodes.Const)}
    # `condition` is what `requirement` prints in its place.
    assert set(FILTERS) - filters - texts == {"condition"}


def test_the_macros_are_those_of_their_files() -> None:
    for macros in MACROS:
        with tables.case(macros.name):
            found = {signature(node) for node in parse_template(macros.name).find_all(nodes.Macro)}
            assert found == set(macros.macros)


def signature(macro: nodes.Macro) -> str:
    names = [argument.name for argument in macro.args]
    defaults = [default.as_const() for default in macro.defaults]
    required = len(names) - len(defaults)
    written = [
        f"{name}={spell_literal(value)}"
        for name, value in zip(names[required:], defaults, strict=True)
    ]
    return f"{macro.name}({', '.join([*names[:required], *written])})"


def spell_literal(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def test_promises_last_until_next_contract_version() -> None:
    promised = templates_page.PROMISED.read_text()
    assert broken(promised, by_kind(promises())) == [], "raise TEMPLATE_CONTRACT"
    # So that the next removal is noticed, too.
    assert promised.splitlines() == promises(), "run support.docs.templates_page"
    gone = {**by_kind(promises()), "AppsContext": {"runtime: str"}}
    members = ("http_server: bool", "served: Mapping[str, Mapping[str, str]]", "stdio: bool")
    assert broken(promised, gone) == [f"AppsContext: {member}" for member in members]


def test_macros_for_others_render_on_their_own(tmp_path: Path) -> None:
    (tmp_path / "own.jinja").write_text('{% from "_macros.jinja" import head %}{{ head("Mine.") }}')
    text = Renderer(FOLDER.parent, tmp_path).render("own.jinja", {})
    assert text == '"""Mine."""'
