"""Mistakes are errors when the server is made, with the function or member, and the cure.

Mistakes of a client are answered with the closest name.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Annotated, Any, Literal, cast

import pytest
from mcp_revisions import Depends, Form, form
from pydantic import BaseModel
from support.revisions import HANDSHAKE, REVISIONS
from support.tables import case
from support.toolkit.kits import McpError, Toolkit, kit, mcp, pkg, prompt, resource, tool


class Address(BaseModel):
    """A type that a form cannot contain."""

    town: str


class Guest(BaseModel):
    """A type without a form."""

    name: str
    address: Address


class Good(BaseModel):
    """A type with a form."""

    name: str = ""


class Later(BaseModel):
    """What cannot be known yet."""

    good: NotYet  # type: ignore[name-defined] # noqa: F821  # pyright: ignore


NUMBERS: type[Any] = cast(Any, Literal[1, 2])
replaced: type[Any] = cast(Any, None)
chosen: type[BaseModel] = Guest


def same(x: int) -> int:
    return x


def bare(x: int) -> int:
    return x


bare.__annotations__.clear()


async def gone(self: object) -> Any:
    yield


def asks(function: Any) -> Callable[[Any], object]:
    """Add a tool, a prompt and a resource that asks."""
    return lambda app: app.tool(function)


async def flat(session: mcp.Session) -> str:
    """Ask."""
    return str(await session.ask("Who?", Guest))


async def in_a_module(name: str, session: mcp.Session | None = None) -> str:
    async def inner() -> str:
        assert session is not None
        return str(await session.ask(f"Which? {name}", decimal.Context, timeout=3))

    return await inner()


async def listed(session: mcp.Session) -> str:
    return str(await session.ask("Who?", list[str]))


async def either(session: mcp.Session, number: bool) -> str:
    return str(await session.ask("Who?", NUMBERS if number else bool))


async def alias(session: mcp.Session) -> str:
    return str(await session.ask("Which?", NUMBERS))


def close_over() -> Any:
    kind = dict[str, int]

    async def closed_over(session: mcp.Session) -> str:
        question = """Which one,
on lines that begin further left?"""
        return str(await session.ask(question, kind))

    return closed_over


async def dependency(session: mcp.Session) -> str:
    return str(await session.ask("Which?", Guest))


def depending(answer: Annotated[str, Depends(dependency)]) -> str:
    return answer


NO_GUEST = "Guest.address cannot be asked for in a form: it is an object; a form is flat: ask for"

# Mistakes in a server, and their messages: the function, and the cure.
MISTAKES: dict[str, tuple[Callable[[Any], object], type[Exception], str]] = {
    "a name twice": (
        lambda app: (app.tool(same), app.tool(same)),
        ValueError,
        "same: there is already a tool same: give one of them another name: name=…",
    ),
    "a URI twice": (
        lambda app: (app.resource("a:{x}")(same), app.resource("a:{x}")(same)),
        ValueError,
        "same: there is already a resource template a:{x}: give one of them another URI",
    ),
    "a prompt twice": (
        lambda app: (app.prompt(same), app.prompt(same)),
        ValueError,
        "same: there is already a prompt same: give one of them another name: name=…",
    ),
    "no annotation": (
        lambda app: app.tool(bare),
        TypeError,
        "bare: the parameter x has no annotation, so its type is unknown: x: str",
    ),
    "a variable that is no parameter": (
        lambda app: app.resource("a:{x}/{y}")(same),
        TypeError,
        "same: a:{x}/{y} has {y}, which is not a parameter: add y: str",
    ),
    "a parameter that is no variable": (
        lambda app: app.resource("a:b")(same),
        TypeError,
        "same: the parameter x is not a variable of a:b: write {x} into the URI, "
        "or Depends(…) into its annotation",
    ),
    "no URI": (lambda app: app.resource(same), TypeError, "@app.resource needs a URI"),
    "no function": (lambda app: app.tool("same"), TypeError, "@app.tool takes one function"),
    "no such option": (lambda app: app.prompt(size=1)(same), TypeError, "no option size"),
    "no such transport": (lambda app: app.run("sse"), ValueError, "unknown transport 'sse'"),
    "a lifespan that is a generator": (
        lambda _: mcp.App("x", lifespan=cast(Any, gone)),
        TypeError,
        "the lifespan gone is a generator, not a context manager: "
        "decorate it with @contextlib.asynccontextmanager",
    ),
    "an object in a form": (asks(flat), TypeError, f"flat: {NO_GUEST} its members one by one"),
    "of a module": (
        asks(in_a_module),
        TypeError,
        "in_a_module: Context cannot be asked for in a form: Unable to generate",
    ),
    "a list in a form": (
        asks(listed),
        TypeError,
        "listed: list[str] cannot be asked for in a form: it is a list, but not of "
        "choices; make it a list of an Enum or a Literal, or a text",
    ),
    "choices in a form": (
        asks(alias),
        TypeError,
        "alias: typing.Literal[1, 2] cannot be asked for in a form: it has choices that are not "
        "strings; make each of them a string",
    ),
    "a form of a closure": (
        asks(close_over()),
        TypeError,
        "close_over.closed_over: dict[str, int] cannot",
    ),
    "a form of a prompt": (lambda app: app.prompt(flat), TypeError, f"flat: {NO_GUEST}"),
    "a form of a resource": (lambda app: app.resource("a:b")(flat), TypeError, f"flat: {NO_GUEST}"),
    "a form of a dependency": (asks(depending), TypeError, f"dependency: {NO_GUEST}"),
}


def test_mistakes_are_named_with_their_cure() -> None:
    for name, (mistake, error, why) in MISTAKES.items():
        with case(name):
            with pytest.raises(error) as raised:
                mistake(mcp.App("any"))
            assert why in str(raised.value)


def test_questions_of_every_method_of_a_server_are_looked_at() -> None:
    async def asking(self: object, session: mcp.Session, params: Any = None) -> Any:
        return await session.ask("Who?", Guest)

    static: Any = staticmethod(asking)
    rows: list[tuple[type, Any]] = [
        *((mcp.Server, asking), (mcp.App, asking), (Toolkit, asking), (mcp.Server, static))
    ]
    for base, member in rows:
        bases = (Toolkit, mcp.Server) if base is Toolkit else (base,)
        for name in ("on_call_tool", "helper"):
            with case((base, name)), pytest.raises(TypeError, match=r"asking: Guest\.address"):
                type("Asks", bases, {name: member})


async def shadowed(session: mcp.Session) -> str:
    Guest = Good
    return str(await session.ask("Who?", Guest))


async def of_a_loop(session: mcp.Session) -> str:
    return str([await session.ask("Who?", Guest) for Guest in (Good,)])


async def set_later(session: mcp.Session) -> str:
    return str(await session.ask("Who?", replaced))


async def set_here(session: mcp.Session) -> str:
    global chosen
    chosen = Good
    return str(await session.ask("Who?", chosen))


async def defined_later(session: mcp.Session) -> str:
    return str(await session.ask("Who?", Later))


async def another_session(session: mcp.Session) -> str:
    async def inner(session: Any) -> object:
        return await session.ask("Who?", Guest)

    return str(await inner(None))


async def rebound(session: mcp.Session) -> str:
    session = cast(Any, None)
    return str(await session.ask("Who?", Guest))


async def rebound_by_a_pattern(session: mcp.Session) -> str:
    match cast(Any, None):
        case [session]:
            return str(await session.ask("Who?", Guest))
        case _:
            return ""


async def unnamed(session: mcp.Session) -> str:
    return str(await session.ask("Who?", NOWHERE))  # type: ignore  # noqa: F821


PREPARED: Form[Good] = form(Good)


async def good(session: mcp.Session) -> str:
    answers = [
        await session.ask("Who?", PREPARED),
        await session.ask("Who?", Good),
        await session.ask("Who?", bool),
        await session.ask("Who?", list[Literal["a", "b"]]),
    ]
    return str(answers)


async def with_params(session: mcp.Session, guest: Guest) -> str:
    m = mcp.models
    schema = m.ElicitRequestFormParamsRequestedSchema(properties={})
    return str([await session.elicit("Who?", schema), await session.elicit(guest.name, schema)])


def test_uncertain_mistakes_are_not_reported() -> None:
    namespace: dict[str, Any] = {"Guest": Guest, "mcp": mcp}
    exec(
        "async def no_source(session: mcp.Session) -> str:\n"
        "    return str(await session.elicit('Who?', Guest))",
        namespace,
    )
    functions = (
        *(shadowed, of_a_loop, set_later, set_here, defined_later, another_session, rebound),
        *(rebound_by_a_pattern, unnamed, good, with_params, either, namespace["no_source"]),
    )
    for function in functions:
        with case(function.__name__):
            mcp.App("any").tool(function)


async def test_without_a_source_the_question_itself_says_it() -> None:
    namespace: dict[str, Any] = {"Guest": Guest, "mcp": mcp}
    exec(
        "async def no_source(session: mcp.Session) -> str:\n"
        "    try:\n"
        "        return str(await session.elicit('Who?', Guest))\n"
        "    except TypeError as error:\n"
        "        return str(error)",
        namespace,
    )
    app = mcp.App("any")
    app.tool(namespace["no_source"])
    async with pkg.client_of(app) as client:
        assert (await client.call_tool("no_source", as_=str)).startswith(NO_GUEST)


async def test_a_program_is_not_run_inside_an_event_loop() -> None:
    app = mcp.App("any")
    ways: dict[str, tuple[Callable[[], object], str]] = {
        "run": (app.run, r"await serve_stdio\(\.\.\.\)"),
        "run_stdio": (lambda: pkg.run_stdio(app), r"await serve_stdio\(\.\.\.\)"),
        "http": (lambda: app.run("http"), r"http_app\(\.\.\.\)"),
    }
    for name, (way, cure) in ways.items():
        with case(name), pytest.raises(RuntimeError, match=cure):
            way()


def helpful(revision: str) -> Any:
    """A server of a revision with one of everything, whose names are nearly right."""

    @tool
    def forecast(self: object, city: str, days: int = 1) -> str:
        return city * days

    @prompt(completions={"place": ["Ulm"]})
    def travel(self: object, place: str, day: str = "") -> str:
        return place + day

    @resource("town://ulm/map")
    def town_map(self: object) -> str:
        return ""

    @resource("people://{name}", completions={"name": ["Ada"]})
    def person(self: object, name: str) -> str:
        raise pkg.ResourceNotFound

    members = (forecast, travel, town_map, person)
    return kit(revision, **{member.__name__: member for member in members})


# Mistakes of a client, and their messages; None if no name is close.
WRONG: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "tool": ("call_tool", ("forcast", {}), "did you mean forecast?"),
    "argument": ("call_tool", ("forecast", {"city": "Ulm", "dyas": 2}), "did you mean days?"),
    "prompt": ("get_prompt", ("travle", {}), "did you mean travel?"),
    "prompt's argument": ("get_prompt", ("travel", {"plcae": "Ulm"}), "did you mean place?"),
    "resource": ("read_resource", ("town://ulm/mpa",), "did you mean town://ulm/map?"),
    "template": ("read_resource", ("poeple://{name}",), "did you mean people://{name}?"),
    "far away": ("call_tool", ("weather", {}), "Unknown tool: weather"),
    "very long": ("call_tool", ("f" * 1000, {}), f"Unknown tool: {'f' * 1000}"),
    "another town": ("read_resource", ("town://berlin/map",), "Resource not found"),
    "not there": ("read_resource", ("people://nobody",), "Resource not found"),
}


@pytest.mark.shows("S2-39")
async def test_a_client_is_told_the_closest_name() -> None:
    for revision in REVISIONS:
        missing = -32002 if revision in HANDSHAKE else -32602
        async with pkg.client_of(helpful(revision), pkg.load(revision).Client()) as client:
            for name, (method, given, meant) in WRONG.items():
                with case((revision, name)):
                    call: Any = getattr(client, method)
                    try:
                        said = (await call(*given)).text
                    except McpError as error:
                        said = str(error)
                        unknown = missing if method == "read_resource" else -32602
                        assert error.code == unknown
                    assert meant in said
                    assert ("did you mean" in said) is ("did you mean" in meant)
            reference = pkg.load(revision).models.PromptReference(name="travel")
            with pytest.raises(McpError, match=r"did you mean place\?"):
                await client.complete(reference, _argument(revision, "palce"))


def _argument(revision: str, name: str) -> Any:
    argument = pkg.load(revision).models.CompleteRequestParamsArgument
    return argument(name=name, value="")
