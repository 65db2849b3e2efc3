"""The pages of the public names of a generated package."""

from collections.abc import Iterator
from typing import Final

from mcp_protogen.pipeline.parts import INSTANCES

from website.markdown import table
from website.navigation import title_of
from website.reference.reading import (
    PACKAGE,
    REVISIONS,
    base_of_models,
    brought_by,
    declared_in,
    functions_of_methods,
    is_of_revisions,
    object_of,
    places,
    stubs,
)
from website.reference.rendering import Options, fields, heading, render, text
from website.reference.topics import PAGES, TOPICS, Topic

GENERATOR: Final = ("mcp_protogen.pipeline.target", "mcp_protogen.pipeline.ir")
"""The modules of the generator that others import."""

_MODEL: Final = "WireModel"
_TARGETS: Final = "targets"


def page(topic: Topic) -> str:
    """Return the page of a topic."""
    guides = ", ".join(f"[{title_of(guide)}]({guide}.md)" for guide in topic.guides)
    options: Options = {}
    lines = [f"# {topic.title}\n", f"How to use them: {guides}.\n"]
    for group in topic.headings:
        lines.append(f"## {group.title}\n")
        for name in group.names:
            lines += _entry(name, options)
    if options:
        lines.append("## Options by keyword\n")
    for name, of in sorted(options.items()):
        lines += [heading(3, name, name), text(of), fields(of, undocumented=True)]
    return "\n".join(lines)


def index() -> str:
    """Return the page that lists all names, by task and by letter."""
    lines = [
        "# Reference: names\n",
        "What `from pkg import …` offers, for a package with all parts. A name that your package"
        " was generated without gives an `ImportError`, which says what brings it.\n",
    ]
    for topic in TOPICS:
        lines.append(f"## {topic.title.removeprefix('Reference: ').capitalize()}\n")
        for group in topic.headings:
            named = ", ".join(f"[`{name}`]({topic.page}.md#{name})" for name in group.names)
            lines.append(f"- {group.title}: {named}")
        lines.append("")
    rows = (
        (f"[`{name}`]({PAGES[name]}.md#{name})", _comes_with(name))
        for name in sorted(PAGES, key=str.lower)
    )
    lines += ["## By letter\n", table(("name", "comes with"), rows)]
    return "\n".join(lines)


def generator() -> str:
    """Return the page of names that targets import from the generator."""
    lines = [
        "# Reference: the generator\n",
        f"What a [target of your own]({_TARGETS}.md#a-target-of-your-own) imports. One number,"
        " `CONTRACT`, covers both modules: it rises when targets must change.\n",
    ]
    for module in GENERATOR:
        described, found = declared_in(module)
        lines.append(f"## `{module}` {{ #{module} }}\n\n{described}\n")
        for name in found:
            lines += [heading(3, name.name, name.name), render(name.name, name, {})]
    return "\n".join(lines)


def messages() -> str:
    """Return the page of message functions and of the base of models."""
    lines = [
        "# Reference: messages\n",
        "How each revision of a package reads, checks and writes messages, here that of"
        f" `pkg.{REVISIONS[-1]}`. [Models](models.md) explains its types.\n",
    ]
    checks = declared_in(f"{PACKAGE}.{REVISIONS[-1]}.capabilities")[1]
    functions = {
        "methods": functions_of_methods(),
        "capabilities": [(check.name, check) for check in checks if check.is_function],
    }
    for module, found in functions.items():
        lines.append(f"## `{module}` {{ #{module} }}\n")
        for name, message in found:
            lines += [heading(3, name, name), render(name, message, {})]
    lines.append("## Models\n\nEvery model of `pkg.….models` has what its base has.\n")
    lines += [heading(3, _MODEL, _MODEL), render(_MODEL, base_of_models(), {})]
    return "\n".join(lines)


def unlisted_names() -> set[str]:
    """Return the public names without a topic, and unknown names of topics."""
    return {*places()} ^ {*PAGES}


def _entry(name: str, options: Options) -> Iterator[str]:
    yield heading(3, name, name)
    where = f"`from pkg import {name}`"
    if is_of_revisions(name):
        where = f"`from pkg.{REVISIONS[-1]} import {name}`, and likewise in every other revision"
    brought = _comes_with(name)
    yield f"{where}; comes with {brought}." if brought else f"{where}."
    yield ""
    yield render(name, object_of(name), options, called=name in INSTANCES)
    if name in ("Client", "Server", "Session"):
        yield from _matrix(name)


def _comes_with(name: str) -> str:
    brought = brought_by().get(name, "")
    if not brought.startswith("--with "):
        return brought
    return " or ".join(f"`--with {parts}`" for parts in brought[len("--with ") :].split(" or "))


def _matrix(name: str) -> Iterator[str]:
    """Return the table of methods by revision."""
    found = stubs(name)
    titles = [revision[1:].replace("_", "-") for revision in REVISIONS]
    yield f"Members of `{name}` by revision:\n"
    rows = (
        (f"`{member}`", *("yes" if member in found[revision] else "–" for revision in REVISIONS))
        for member in sorted(set[str]().union(*found.values()))
    )
    yield table(("member", *titles), rows, align="centre")
