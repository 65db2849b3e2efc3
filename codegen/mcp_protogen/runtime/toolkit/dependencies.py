"""Parameters that no client sets: functions give their values, anew for each call.

What a call needs is found when the function is registered. In a call, each function runs once,
after those that it needs itself; generators go on in the opposite order when the call is over.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter as Kind
from inspect import isasyncgenfunction, isawaitable, isgeneratorfunction, signature
from typing import Annotated, Any, Final, TypeAlias, get_args, get_origin

from .functions import Function, Parameter, Signature, named, signature_of

_Entered: TypeAlias = AbstractAsyncContextManager[Any]
Run: TypeAlias = Callable[[object, Any, Mapping[str, Any]], Awaitable[Any]]

_VARIADIC: Final = (Kind.VAR_POSITIONAL, Kind.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Depends:
    """A function that gives a parameter its value: `db: Annotated[Db, Depends(open_db)]`.

    It may be a coroutine function or a generator, which goes on after the call, and have such
    parameters itself, or one that takes the session.
    """

    function: Function


@dataclass(frozen=True, slots=True)
class _Step:
    function: Function
    manager: Callable[..., _Entered] | None
    """For a generator, what makes a context manager of it."""
    sessions: tuple[str, ...]
    needs: Mapping[str, Function]


def split(signature: Signature) -> tuple[Signature, Mapping[str, Function]]:
    """Return the signature without the parameters that functions fill, and these functions."""
    filled = {one.name: found for one in signature.parameters if (found := _filled(signature, one))}
    if not filled:
        return signature, filled
    parameters = tuple(one for one in signature.parameters if one.name not in filled)
    return replace(signature, parameters=parameters), filled


def _filled(signature: Signature, parameter: Parameter) -> Function | None:
    if isinstance(parameter.default, Depends):
        name = named(parameter.default.function)
        advice = f"{parameter.name}: Annotated[…, Depends({name})]"
        raise TypeError(f"{signature.where}: Depends belongs to the annotation: {advice}")
    # A type alias has its value in a member.
    annotation = getattr(parameter.annotation, "__value__", parameter.annotation)
    found = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((one.function for one in found if isinstance(one, Depends)), None)


def with_dependencies(run: Run, filled: Mapping[str, Function]) -> Run:
    """Return `run` with the parameters that functions fill; raise `TypeError` for a circle."""
    steps: dict[Function, _Step] = {}
    for function in filled.values():
        _plan(function, steps, ())
    ordered = tuple(steps.values())

    async def filling(server: object, session: Any, given: Mapping[str, Any]) -> Any:
        entered: list[_Entered] = []
        failed: BaseException | None = None
        result: Any = None
        try:
            values = await _values(ordered, session, entered)
            given = {**given, **{name: values[one] for name, one in filled.items()}}
            result = await run(server, session, given)
        except BaseException as error:
            failed = error
        for manager in reversed(entered):
            failed = await _left(manager, failed)
        if failed is None:
            return result
        try:
            raise failed
        finally:
            del failed  # which holds on to this frame

    return filling


async def _values(
    steps: Sequence[_Step], session: object, entered: list[_Entered]
) -> Mapping[Function, Any]:
    values: dict[Function, Any] = {}
    for step in steps:
        given = {name: values[function] for name, function in step.needs.items()}
        given.update(dict.fromkeys(step.sessions, session))
        if step.manager is None:
            value = step.function(**given)
            if isawaitable(value):
                value = await value
        else:
            manager = step.manager(**given)
            value = await manager.__aenter__()
            entered.append(manager)
        values[step.function] = value
    return values


async def _left(manager: _Entered, failed: BaseException | None) -> BaseException | None:
    """Let a generator go on, and return the failure that there is then."""
    try:
        # One that catches it hides it from no other: a transaction must not be committed then.
        if failed is None:
            await manager.__aexit__(None, None, None)
        else:
            await manager.__aexit__(type(failed), failed, failed.__traceback__)
    except BaseException as error:
        return error
    return failed


@asynccontextmanager
async def _of_generator(function: Function, /, **given: Any) -> AsyncGenerator[Any, None]:
    with contextmanager(function)(**given) as value:
        yield value


def _plan(function: Function, steps: dict[Function, _Step], above: tuple[Function, ...]) -> None:
    """Add what a function needs, and then itself, to the steps of a call."""
    if function in above:
        circle = " → ".join(map(named, (*above[above.index(function) :], function)))
        raise TypeError(f"Depends goes in a circle: {circle}")
    if function in steps:
        return
    if not callable(function):
        raise TypeError(f"Depends takes a function, but not {function!r}: Depends(open_db)")
    described, needs = split(_signature(function))
    for needed in needs.values():
        _plan(needed, steps, (*above, function))
    for one in described.parameters:
        if one.required:
            advice = "annotate it with Depends(…) or the session, or give it a default"
            raise TypeError(f"{described.where}: nothing fills the parameter {one.name}: {advice}")
    manager: Callable[..., _Entered] | None = None
    if isasyncgenfunction(function):
        manager = asynccontextmanager(function)
    elif isgeneratorfunction(function):
        manager = partial(_of_generator, function)
    steps[function] = _Step(function, manager, described.sessions, needs)


def _signature(function: Function) -> Signature:
    # The annotations of a class are those of its attributes.
    is_class = isinstance(function, type)
    target: Any = function.__init__ if is_class else function
    found = replace(signature_of(target, method=is_class), where=named(function))
    kinds = signature(target).parameters
    parameters = [one for one in found.parameters if kinds[one.name].kind not in _VARIADIC]
    return replace(found, parameters=tuple(parameters))
