"""Two revisions: decisions by types, by translation rules, and open ones."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from mcp_protogen.base.names import ClassName
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline import ir
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.inputs import translations
from mcp_protogen.pipeline.inputs.translations import StepDirection, Translation
from mcp_protogen.pipeline.plans.tables import PairTables, pair_tables
from mcp_protogen.runtime.translation import plans
from mcp_protogen.runtime.translation.conversions import CONVERSIONS
from mcp_protogen.runtime.translation.plans import Apply, Direction, Drop, Members, Move, To, Whole
from mcp_protogen.runtime.translation.translator import Translator
from support import tables
from support.revisions import NEIGHBOURS, REVISIONS
from support.unit.revision_pairs import (
    MIDDLE,
    NEWEST,
    NUMBER,
    OLDEST,
    STRING,
    WAYS,
    WHY,
    Fields,
    Json,
    Types,
    a,
    array,
    both_ways,
    derive_ir,
    direction,
    member,
    order_sides,
    problems_of,
    read_step,
    ref,
    revision,
    rule,
    rules_file,
    union,
)

# Open decisions of the types.

ITEM, OTHER = a("Item", member("label"), member("more")), a("Other", member("kind", required=True))
X, NEEDED, COUNT = member("x"), member("x", required=True), member("x", NUMBER)
MAYBE, LIMITED = replace(X, nullable=True), replace(COUNT, constraints=(("ge", 0),))
PLAIN, LOUD = (member("x", ir.LiteralOf(values)) for values in (("plain",), ("plain", "loud")))
AN_ITEM, ITEMS, TEXTS = (member("x", kind) for kind in (ref("Item"), array("Item"), array(STRING)))
EITHER, TEXT_TOO, ARRAY_TOO = (
    member("x", ir.OneOf((ref("Item"), kind))) for kind in (ref("Other"), STRING, array("Item"))
)
UNDECIDED: dict[str, tuple[Fields, ir.FieldIR, str]] = {
    "a new required member": ((), NEEDED, ": is required in {}"),
    "a member required now": ((X,), NEEDED, ": is required in {}"),
    "an enum that loses a member": ((LOUD,), PLAIN, ": plain or loud must become plain"),
    "a text that becomes an enum": ((X,), PLAIN, ": a string must become plain"),
    "an object that becomes a text": ((AN_ITEM,), X, ": Item must become a string"),
    "a text that becomes an object": ((X,), AN_ITEM, ": a string must become Item"),
    "another kind of item": ((ITEMS,), TEXTS, "[]: Item must become a string"),
    "an object that is no choice": ((EITHER,), TEXT_TOO, ": Other is not allowed here in {}"),
    "a text that is no choice": ((TEXT_TOO,), AN_ITEM, ": a string is not allowed here in {}"),
    "an array that is no choice": ((ARRAY_TOO,), AN_ITEM, ": an array is not allowed here in {}"),
    "null": ((MAYBE,), X, ": may be null, which {} does not allow"),
    "a constraint": ((COUNT,), LIMITED, ": must satisfy {{'ge': 0}} in {}"),
}


def test_ambiguous_moves_are_reported_at_their_place() -> None:
    for way, (name, (source, destination, what)) in product(WAYS, UNDECIDED.items()):
        with tables.case((way, name)):
            both = [(a("Params", *fields), ITEM, OTHER) for fields in (source, (destination,))]
            start, end = order_sides(way, OLDEST, MIDDLE)
            found = [
                p
                for p in problems_of(*order_sides(way, *both))
                if p.message.startswith(f"from {start}")
            ]
            assert [p.message for p in found] == [
                f"from {start} to {end}, Params.x{what.format(end)}"
            ]
            assert (found[0].code, found[0].pointer) == ("undecided-difference", "/rules")
            assert found[0].place == f"schema/{MIDDLE}/translation.json"
            assert "--rules" in found[0].hint


@pytest.mark.parametrize("tag", ["link", "links/create", "Link 2.0"])
@pytest.mark.parametrize("way", WAYS)
def test_an_arm_that_the_destination_lacks_needs_a_function(way: StepDirection, tag: str) -> None:
    tags = (member("type", ir.LiteralOf((text,)), required=True) for text in ("text", tag))
    text, link = map(a, ("Text", "Link"), tags)
    root = a("Params", member("block", ref("Block")))
    few = (root, union("Block", "Text"), text)
    many = (root, union("Block", "Text", "Link"), text, link)
    start, end = order_sides(way, OLDEST, MIDDLE)
    (problem,) = problems_of(*order_sides(way, many, few))
    what = f"from {start} to {end}, Block[{tag}]: {end} has no such arm"
    assert problem.message == what
    kept = rule(f"Block[{tag}]", **{way: {"keep": True}})
    (refused,) = problems_of(*order_sides(way, many, few), kept)
    assert (refused.code, refused.message) == ("bad-rule", f"{what}, so it cannot be kept")
    assert str(refused).startswith("error[bad-rule]: mine.json#/rules/0: ")
    made = direction(way, many, few, rule(f"Block[{tag}]", **{way: {"apply": "link_as_text"}}))
    judged = {tag: Apply("link_as_text", WHY)}
    assert made.plans["Block"] == plans.Arms("Block", "type", apply=judged)


@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_no_alternative_allows_there_cannot_be_kept(way: StepDirection) -> None:
    text, link = a("Text", member("text", required=True)), a("Link", member("uri", required=True))
    root = a("Params", member("block", ref("Block")))
    few = (root, replace(union("Block", "Text"), tag=None), text)
    many = (root, replace(union("Block", "Text", "Link"), tag=None), text, link)
    start, end = order_sides(way, OLDEST, MIDDLE)
    what = f"from {start} to {end}, Block: Link is not allowed here in {end}"
    for action, code, message in (
        ({"keep": True}, "bad-rule", f"{what}, so it cannot be kept"),
        ({"finish": "link_as_text"}, "undecided-difference", what),
    ):
        with tables.case(action):
            (problem,) = problems_of(*order_sides(way, many, few), rule("Block", **{way: action}))
            assert (problem.code, problem.message) == (code, message)
    made = direction(way, many, few, rule("Block", **{way: {"apply": "link_as_text"}}))
    assert made.plans["Block"] == Whole("Block", apply=(Apply("link_as_text", WHY),))


@pytest.mark.parametrize("way", WAYS)
def test_function_at_a_member_gets_its_value(way: StepDirection) -> None:
    text, link = a("Text", member("text", required=True)), a("Link", member("uri", required=True))
    choice = ir.OneOf((ref("Text"), ref("Link")))
    few = (a("Params", member("block", ref("Text"))), text)
    many = (a("Params", member("block", choice)), text, link)
    made = direction(way, many, few, rule("Params.block", **{way: {"apply": "link_as_text"}}))
    given = {"block": {"uri": "u", "name": "n"}, "other": 1}
    found = Translator(made).translate(given, "Params")
    assert found.value == {"block": {"type": "text", "text": "n <u>"}, "other": 1}
    assert [(loss.pointer, loss.what) for loss in found.losses] == [("/block", "replaced")]


@pytest.mark.parametrize("way", WAYS)
def test_function_without_a_value_is_refused(way: StepDirection) -> None:
    with_x, without = (a("Params", X),), (a("Params"),)
    for verb, there in (("apply", without), ("finish", with_x)):
        entry = rule("Params.x", **{way: {verb: "link_as_text"}})
        with tables.case(verb):
            problems = problems_of(*order_sides(way, with_x, there), entry)
            found = [str(problem) for problem in problems if problem.code == "bad-rule"]
            assert ["#/rules/0: this" in text for text in found] == [True]
            assert f"{verb} has no value at Params.x" in found[0]


@pytest.mark.parametrize("way", WAYS)
def test_an_object_with_free_keys_is_allowed_where_the_same_is(way: StepDirection) -> None:
    free = replace(union("Block", "Text"), arms=(ref("Text"), ir.MapOf(STRING)), tag=None)
    text = a("Text", member("text", required=True))
    older = (a("Params", member("block", ref("Block"))), free, text)
    newer = (*older[:2], a("Text", *text.fields, X))
    assert direction(way, *order_sides(way, older, newer)).source


def test_a_value_without_a_required_member_cannot_be_kept() -> None:
    for way, fields in product(WAYS, ((X,), ())):
        with tables.case((way, fields)):
            start, end = order_sides(way, OLDEST, MIDDLE)
            both = order_sides(way, (a("Params", *fields),), (a("Params", NEEDED),))
            found = problems_of(*both, rule("Params.x", up={"keep": True}, down={"keep": True}))
            assert [(p.code, p.pointer, p.message) for p in found] == [
                (
                    "bad-rule",
                    "/rules/0",
                    f"from {start} to {end}, Params.x: is required in {end}, so it cannot be kept",
                )
            ]


@pytest.mark.parametrize("way", WAYS)
def test_aliases_that_contain_themselves_come_to_an_end(way: StepDirection) -> None:
    def types(*members: ir.FieldIR) -> Types:
        tree = ir.OneOf((STRING, ir.ListOf(ref("Tree")), ref("Leaf")))
        alias = ir.AliasIR(ClassName("Tree"), tree, "", "", False)
        return a("Say", member("tree", ref("Tree"))), alias, a("Leaf", *members)

    same = types(member("x"))
    assert direction(way, same, same).plans == {}
    found = direction(way, types(member("x"), member("y")), types(member("x"))).plans
    leaf = To("Leaf")
    assert found["Tree"] == Whole("Tree", step=plans.Either(leaf, plans.Each(To("Tree"))))
    assert found["Say"] == Members("Say", inside={"tree": To("Tree")})


# Decisions of the types.


def test_recursive_types_that_agree_have_no_plan() -> None:
    same = (a("Params", member("node", ref("Node"))), a("Node", member("inner", array("Node"))))
    made = both_ways(same, same).up
    assert (made.plans, made.same) == ({}, {"Node": "Node", "Params": "Params"})
    assert made.methods == {"say": plans.Method(None, None)}


def test_recursive_type_refers_to_its_own_plan() -> None:
    root, inner = a("Params", member("node", ref("Node"))), member("inner", array("Node"))
    made = both_ways((root, a("Node", inner)), (root, a("Node", inner, X))).up
    node = Members("Node", undefined=("x",), inside={"inner": plans.Each(To("Node"))})
    assert made.plans == {"Params": Members("Params", inside={"node": To("Node")}), "Node": node}


# Translation rules.

FUNCTION = (Apply("one_block", WHY),)
APPLIED = Members("Params", apply=FUNCTION)
AT_ITEM = member("item", ref("Item"))
MOVED = Members("Params", move={"x": (Move(("item", "label"), WHY),)})
PARTED = Members("Params", move={"item": (Move(("x",), WHY, ("label",)), Move((), WHY, ("more",)))})
RENAMED = Members("Params", move={"y": (Move(("x",), WHY),)}, undefined=("x",))
PARTS: Json = {"move": {"label": "x", "more": None}}
USUAL = Members("Params", drop={"x": Drop(WHY, usual="a")})
FILLED_IN = member("x", required=True, default="a")
HARMLESS = Members("Params", drop={"x": Drop(WHY, harmless=True)})
ONLY_INSIDE = Members("Params", inside={"item": To("Item")})
SETTLING: Json = {"apply": "one_block", "settles": ["x"]}
ELSEWHERE: Json = {"finish": "one_block", "settles": ["Params.x"]}
WHOLE: Json = {"apply": "one_block", "whole": True}
VERBS: dict[str, tuple[str, Json, Fields, Fields, plans.Plan | None]] = {
    "keep": ("Params.x", {"keep": True}, (X,), (COUNT,), None),
    "keep, unknown": ("Params.x", {"keep": True}, (X,), (), None),
    "drop": ("Params.x", {"drop": "lossy"}, (X,), (), Members("Params", drop={"x": Drop(WHY)})),
    "drop, filled in": ("Params.x", {"drop": "lossy"}, (FILLED_IN,), (), USUAL),
    "drop, harmless": ("Params.x", {"drop": "harmless"}, (X,), (), HARMLESS),
    "move": ("Params.x", {"move": "item.label"}, (X, AT_ITEM), (AT_ITEM,), MOVED),
    "move, parts": ("Params.item", PARTS, (AT_ITEM, X), (X,), PARTED),
    "add": ("Params.x", {"add": 1}, (), (X,), Members("Params", undefined=("x",), add={"x": 1})),
    "add, required now": (
        "Params.x",
        {"add": "a"},
        (X,),
        (NEEDED,),
        Members("Params", add={"x": "a"}),
    ),
    "apply": ("Params", {"apply": "one_block"}, (), (), APPLIED),
    "finish": ("Params", {"finish": "one_block"}, (), (), Members("Params", finish=FUNCTION)),
    "settles": ("Params", SETTLING, (X,), (COUNT,), APPLIED),
    "settles, unknown": ("Params", SETTLING, (X,), (), APPLIED),
    "settles, elsewhere": ("Item", ELSEWHERE, (X, AT_ITEM), (NEEDED, AT_ITEM), ONLY_INSIDE),
    "whole": ("Params", WHOLE, (X,), (COUNT, AT_ITEM), Whole("Params", apply=FUNCTION)),
}


def test_a_rule_does_what_it_says() -> None:
    for way, (name, (at, action, source, destination, plan)) in product(WAYS, VERBS.items()):
        with tables.case((way, name)):
            both = [(a("Params", *fields), ITEM) for fields in (source, destination)]
            made = direction(way, both[0], both[1], rule(at, up=action, down=action))
            assert made.plans.get("Params") == plan


def test_required_member_of_another_name_is_filled_by_its_move() -> None:
    up, down = rule("Params.y", up={"move": "x"}), rule("Params.x", down={"move": "y"})
    older = (a("Params", replace(NEEDED, wire="y")),)
    made = both_ways(older, (a("Params", NEEDED),), up, down)
    assert made.up.plans == {"Params": RENAMED}
    back = Members("Params", move={"x": (Move(("y",), WHY),)}, undefined=("y",))
    assert made.down.plans == {"Params": back}
    (problem,) = problems_of((a("Params", replace(X, wire="y")),), (a("Params", NEEDED),), up, down)
    assert problem.message.endswith(f"Params.x: is required in {MIDDLE}")


PATHS: dict[str, tuple[object, str]] = {
    "a member that is not there": ("item.gone", "'gone' is not a member"),
    "a part that is not there": ({"part": "item.label"}, "'part' is not a member"),
    "no path": ("item..label", "is not a path"),
    "an entry of no array": ("item[label=a]", "brackets follow an array"),
    "an entry of another type": ("items[kind=a].label", "no entry has kind=a"),
}


def test_a_path_that_does_not_fit_the_types_is_refused_with_its_step() -> None:
    older = (a("Params", AT_ITEM, member("items", array("Item"))), ITEM)
    newer = (a("Params", *older[0].fields, X), ITEM)
    for name, (move, why) in PATHS.items():
        with tables.case(name):
            problems = problems_of(older, newer, rule("Params.x", down={"move": move}))
            (problem,) = [found for found in problems if found.code == "bad-rule"]
            assert why in problem.message and "Params.x cannot be moved" in problem.message
            assert (problem.place, problem.pointer) == ("mine.json", "/rules/0")


def test_a_new_object_that_would_lack_a_required_member_is_undecided() -> None:
    moving = rule("Params.x", down={"move": "others[label=a].text"})
    full = a("Full", member("label"), member("text"), member("kind", required=True))
    older = (a("Params", member("others", array("Full"))), full)
    (problem,) = problems_of(older, (a("Params", *older[0].fields, X), full), moving)
    assert problem.message.endswith("moves to others[label=a].text, which requires kind")


def test_a_name_that_its_revision_lacks_is_refused_with_a_suggestion() -> None:
    types = (a("Params", AT_ITEM), ITEM)
    names = {"Item": "Items", "Params": "Params", "speak": "say", "say": "sy", "sing": None}
    step = read_step(rules_file(became=names))
    with pytest.raises(ProblemError) as caught:
        pair_tables(revision(OLDEST, *types), revision(MIDDLE, *types), step)
    assert [(p.code, p.where, p.message, p.hint) for p in caught.value.problems] == [
        ("bad-rule", "mine.json#/became/Item", f"{MIDDLE} has no type Items", "did you mean Item?"),
        (
            "bad-rule",
            "mine.json#/became/speak",
            f"{OLDEST} has no method speak",
            "did you mean say?",
        ),
        ("bad-rule", "mine.json#/became/say", f"{MIDDLE} has no method sy", "did you mean say?"),
        ("bad-rule", "mine.json#/became/sing", f"{OLDEST} has no method sing", "known: say"),
    ]


def test_a_name_without_a_decision_is_reported() -> None:
    types = (a("Params", AT_ITEM), ITEM)
    choices: Json = {"difference": "It is gone.", "choices": ["Other", None]}
    step = read_step(rules_file(became={"Gone": choices, "Removed": None}))
    with pytest.raises(ProblemError) as caught:
        pair_tables(revision(OLDEST, *types, a("Removed")), revision(MIDDLE, *types), step)
    (problem,) = caught.value.problems
    assert (problem.code, problem.where) == ("undecided-difference", "mine.json#/became/Gone")
    assert problem.message == f"{MIDDLE} has no Gone: it was renamed or removed"


def test_a_rule_for_one_way_leaves_the_other_undecided() -> None:
    older, newer = (a("Params", X),), (a("Params", COUNT),)
    (problem,) = problems_of(older, newer, rule("Params.x", up={"keep": True}))
    assert problem.message.startswith(f"from {MIDDLE} to {OLDEST}, Params.x")


@pytest.mark.parametrize("way", WAYS)
def test_each_result_of_a_method_becomes_what_it_is_called_there(way: StepDirection) -> None:
    def answering(id_: str, *results: ir.ObjectIR) -> ir.RevisionIR:
        made = revision(id_, a("Params"), *results)
        say = replace(made.methods[0], results=tuple(result.name for result in results))
        return replace(made, methods=(say,))

    step = read_step(rules_file(became={"Old": "New"}))
    older = answering(OLDEST, a("Done"), a("Same", X), a("Old", X), a("Gone", X))
    newer = answering(MIDDLE, a("Done"), a("Same"), a("New"), a("Come"))
    made = getattr(pair_tables(older, newer, step), way)
    assert {name: plan.becomes for name, plan in made.plans.items()} == (
        {"Same": "Same", "Old": "New"} if way == "up" else {"Same": "Same", "New": "Old"}
    )


@pytest.mark.parametrize("way", WAYS)
def test_method_of_another_name_is_translated_also_as_a_tag(way: StepDirection) -> None:
    def asking(id_: str, method: str) -> ir.RevisionIR:
        named = ir.LiteralOf((method,))
        ask = a("Ask", member("method", named, required=True, default=method))
        held = replace(union("Asked", "Ask"), tag="method")
        made = revision(id_, a("Params", member("asked", ref("Asked"))), held, ask)
        return replace(made, methods=(replace(made.methods[0], method=method),))

    step = read_step(rules_file(became={"say/this": "say/that"}))
    made = pair_tables(asking(OLDEST, "say/this"), asking(MIDDLE, "say/that"), step)
    old, new = order_sides(way, "say/this", "say/that")
    table: Direction = getattr(made, way)
    assert table.methods == {old: plans.Method(To("Params"), None, new)}
    translator = Translator(table)
    asked = {"asked": {"method": old}}
    assert translator.translate(asked, "Params").value == {"asked": {"method": new}}
    assert translator.methods()[old] == new


def test_alternatives_pair_by_the_names_of_both_revisions() -> None:
    either = a("Params", member("x", ir.OneOf((ref("A"), ref("B")))))

    def arm(name: str, kind: str, *members: str) -> ir.ObjectIR:
        named = member("kind", ir.LiteralOf((kind,)), required=True)
        return a(name, named, *map(member, members))

    older = revision(OLDEST, either, arm("A", "a", "one"), arm("B", "b", "two"))
    newer = revision(MIDDLE, either, arm("B", "a", "one", "more"), arm("A", "b", "two"))
    made = pair_tables(older, newer, read_step(rules_file(became={"A": "B", "B": "A"})))
    for value in ({"kind": "a", "one": "1"}, {"kind": "b", "two": "2"}):
        for table in (made.up, made.down):
            assert Translator(table).translate({"x": value}, "Params").value == {"x": value}
    # A type that went has no counterpart of its name.
    with pytest.raises(ProblemError) as caught:
        pair_tables(older, newer, read_step(rules_file(became={"A": None})))
    assert "A is not allowed here" in str(caught.value)


@pytest.mark.parametrize("edited", [False, True])
def test_rules_about_what_an_edited_schema_lacks_are_left_out(edited: bool) -> None:
    text, link = (
        a(name, member("type", ir.LiteralOf((tag,)), required=True))
        for name, tag in (("Text", "text"), ("Link", "link"))
    )
    few = (a("Params", member("block", ref("Block"))), union("Block", "Text"), text)
    entry = rule("Block[link]", down={"apply": "link_as_text"})
    step = replace(read_step(rules_file(entry)), edited=edited)
    ends = revision(OLDEST, *few), revision(MIDDLE, *few)
    if edited:
        assert pair_tables(*ends, step).down.plans == {}
        many = (few[0], union("Block", "Text", "Link"), text, link)
        assert "Block" in pair_tables(ends[0], revision(MIDDLE, *many), step).down.plans
    else:
        with pytest.raises(ProblemError, match=r"no effect: .* Block"):
            pair_tables(*ends, step)


# Our own translation rules, and those of a user.


@cache
def own_steps(older: str, newer: str) -> tuple[Translation, ...]:
    return translations.steps_between(schema_folder(), older, newer, GenerationOptions(()))


def smaller(step: Translation) -> Iterator[tuple[str, Translation]]:
    """Yield a step without one of its rules in one direction, after the name of that rule."""
    for place, way in sorted({(action.place, action.direction) for action in step.actions}):
        left = tuple(
            action for action in step.actions if (action.place, action.direction) != (place, way)
        )
        yield f"{place}/{way}", replace(step, actions=left)
    for code in step.errors:
        others = tuple(error for error in step.errors if error is not code)
        yield f"{code.direction} {code.was}", replace(step, errors=others)


@pytest.mark.parametrize(("older", "newer"), NEIGHBOURS)
def test_every_rule_is_needed(older: str, newer: str) -> None:
    def make_tables(step: Translation) -> PairTables | None:
        try:
            return pair_tables(derive_ir(older), derive_ir(newer), step)
        except ProblemError as error:
            # Without an error's change, rules for its data have no effect.
            found = {problem.code for problem in error.problems}
            assert found <= {"undecided-difference", "bad-rule"}
            return None

    (step,) = own_steps(older, newer)
    everything = make_tables(step)
    assert everything is not None
    assert [name for name, less in smaller(step) if make_tables(less) == everything] == []


def ends(options: GenerationOptions) -> list[tuple[str, str]]:
    return [(step.older, step.newer) for step in translations.all_steps(schema_folder(), options)]


def test_steps_lead_over_revisions_that_a_package_lacks() -> None:
    assert ends(GenerationOptions((OLDEST, NEWEST))) == [(OLDEST, MIDDLE), (MIDDLE, NEWEST)]
    direct = {NEWEST: rules_file(older=OLDEST)}
    assert ends(GenerationOptions((OLDEST, NEWEST), rules=direct)) == [(OLDEST, NEWEST)]
    # What the package has is never left out.
    all_three = GenerationOptions((OLDEST, MIDDLE, NEWEST), rules=direct)
    assert ends(all_three) == [(OLDEST, MIDDLE), (MIDDLE, NEWEST)]


def test_rules_and_the_runtime_know_the_same_functions() -> None:
    steps = own_steps(REVISIONS[0], REVISIONS[-1])
    found = {
        action.value
        for step in steps
        for action in step.actions
        if action.do in ("apply", "finish")
    }
    # A revision that moves structured content has a use for it: see `moved_results`.
    assert found | {"structured_content_also_as_text"} == set(CONVERSIONS)


UNFIT: dict[str, tuple[GivenFile, str]] = {
    "no older revision": (GivenFile("mine.json", b'{"became": {}, "rules": [], "errors": []}'), ""),
    "an unknown verb": (rules_file(rule("Tool", up={"discard": "lossy"})), "/rules/0/up"),
    "two verbs": (rules_file(rule("Tool.x", up={"keep": True, "drop": "lossy"})), "/rules/0/up"),
    "an unknown loss": (rules_file(rule("Tool.x", down={"drop": "sad"})), "/rules/0/down/drop"),
    "an impossible place": (rules_file(rule("T.x", "tool.x", up={"keep": True})), "/rules/0/at/1"),
    "neither way": (rules_file(rule("Tool.x")), "/rules/0"),
    "an impossible name": (rules_file(became={"A b": "B"}, rules=[{}]), "/became"),
    "a new name that is none": (rules_file(became={"A": "B-c"}), "/became/A"),
    "a type that became a method": (rules_file(became={"A": "a/b"}), "/became/A"),
    "a method that became a type": (rules_file(became={"a/b~": "B"}), "/became/a~1b~0"),
    "a code of no use": (rules_file(errors=[{"method": ""}]), "/errors/0"),
}


def test_rules_of_another_format_are_refused_at_their_place() -> None:
    for name, (file, pointer) in UNFIT.items():
        with tables.case(name):
            with pytest.raises(ProblemError) as caught:
                read_step(file)
            found = {
                (problem.code, problem.place, problem.pointer) for problem in caught.value.problems
            }
            assert ("bad-rule", "mine.json", pointer) in found
            assert {code for code, _, _ in found} == {"bad-rule"}


def test_a_function_that_the_runtime_lacks_is_refused_with_a_suggestion() -> None:
    for verb in ("apply", "finish"):
        with tables.case(verb):
            entries = (rule("Tool", up={"keep": True}), rule("Tool", down={verb: "one_blok"}))
            with pytest.raises(ProblemError) as caught:
                read_step(rules_file(*entries))
            (problem,) = caught.value.problems
            assert problem.code == "bad-rule" and "'one_blok'" in problem.message
            assert "mine.json#/rules/1" in str(problem) and "did you mean one_block" in problem.hint
