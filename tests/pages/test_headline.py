"""The headline of each page: a comparison in one sentence, by features."""

from dataclasses import replace

from mcp_protogen.pipeline.reports.change import Category, Comparison, Reader, ReportedChange
from mcp_protogen.pipeline.reports.pages.headline import headline
from support.pages.comparisons import (
    BREAKING,
    INFO,
    NONE,
    REMOVED,
    SMALL,
    WARNING,
    everybody,
    severities_of,
)

FIELD = replace(REMOVED, code="field-removed", category=Category.FIELD, item="Tool.a")
ERA = replace(REMOVED, code="era-changed", category=Category.RULE, item="lifecycle")


def headline_of(
    *changes: ReportedChange,
    reader: Reader | None = None,
    came: tuple[str, ...] = (),
    went: tuple[str, ...] = (),
) -> str:
    return headline(Comparison("a", "b", changes, came=came, went=went), reader)


def of(feature: str, *changes: ReportedChange) -> tuple[ReportedChange, ...]:
    return tuple(replace(change, feature=feature) for change in changes)


def test_headline_orders_removed_then_named_then_most() -> None:
    base = of("base protocol", ERA, replace(REMOVED, item="initialize"), REMOVED, FIELD)
    assert headline_of(
        *of("tools", FIELD, FIELD, FIELD), *of("prompts", *[FIELD] * 5), *base,
        *of("tasks", FIELD), *of("subscriptions", replace(REMOVED, severity=everybody(INFO))),
        went=("tasks",), came=("subscriptions",),
    ) == (
        "b against a: 13 breaking for clients, 13 for servers: tasks removed, base protocol"
        " (initialize and ping removed; lifecycle changed; 1 more), prompts (5) and tools (3);"
        " new: subscriptions."
    )  # fmt: skip


def test_headline_is_about_worst_change_for_reader() -> None:
    one = of("tools", replace(FIELD, severity=severities_of(BREAKING, INFO, WARNING, NONE)))
    other = of("roots", replace(FIELD, severity=severities_of(WARNING, BREAKING, NONE, WARNING)))
    texts = {
        None: "1 breaking for clients, 1 for servers: roots (1) and tools (1).",
        Reader.CLIENT: "1 breaking for clients: tools (1).",
        Reader.SDK: "1 warning for libraries: tools (1).",
        Reader.GATEWAY: "1 warning for gateways: roots (1).",
    }
    for reader, text in texts.items():
        assert headline_of(*one, *other, reader=reader) == f"b against a: {text}"
    quiet = of("tools", replace(FIELD, severity=severities_of(NONE, NONE, INFO, NONE)))
    assert headline_of(*quiet) == "b against a: 1 info for libraries: tools (1)."
    assert headline_of(*quiet, reader=Reader.CLIENT) == ""


def test_harmless_additions_are_whole_headline() -> None:
    added = replace(REMOVED, code="method-added", severity=everybody(INFO))
    text = headline_of(*of("tasks", added), came=("tasks", "elsewhere"))
    assert text == "b against a: 1 info for clients, 1 for servers; new: tasks."


def test_long_lists_are_counted() -> None:
    many = [change for n in range(12) for change in of(f"f{n:02}", FIELD)]
    assert headline_of(*many).endswith("f06 (1), f07 (1) and 4 more.")
    methods = [replace(REMOVED, item=f"m/{n}") for n in range(6)]
    assert "m (m/0, m/1, m/2 and 3 more removed)" in headline_of(*of("m", *methods))


def test_without_features_nothing_is_said() -> None:
    assert headline(SMALL, None) == headline_of() == ""
