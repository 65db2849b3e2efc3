"""Line breaks in long statements, as black puts them.

Templates print a statement on one line, or on several where black always does so. This module knows
only the kinds of statements in generated modules; a test compares them with black.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from mcp_protogen.pipeline.emit.text import WIDTH, literal

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_STRING = r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
_TOKEN = re.compile(rf"{_STRING}|#[^\n]*|[][(){{}}\n]", re.DOTALL)
_SPLIT = re.compile(rf"({_STRING}|[][(){{}},])")
_QUOTES = frozenset("\"'")
_LINE_BREAK = re.compile(r"\s*\n\s*")
_TOO_LONG = re.compile(rf"^.{{{WIDTH + 1},}}$", re.MULTILINE)
# Black counts columns; characters from here on may take none or two.
_TOO_LONG_OR_UNEVEN = re.compile(rf"{_TOO_LONG.pattern}|[^\0-\u02ff]", re.MULTILINE)
_FUNCTION = re.compile(r"(async )?def ")
_IMPORT = re.compile(r"(from \S+ import )(.*)")
_OR = " | "


class UnknownStatement(Exception):
    """Raised for a long statement of an unknown kind."""


@dataclass(frozen=True, slots=True)
class FixedText:
    """An expression that is printed unchanged."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Text:
    """A string, split into pieces if it does not fit on a line."""

    value: str

    def __str__(self) -> str:
        return literal(self.value)


@dataclass(frozen=True, slots=True)
class Group:
    """Items in brackets: arguments of a call, a subscript, or a display.

    `comma` means a comma after the last item. `split` groups are always on several lines; `text` is
    the group on a single line.
    """

    opening: str
    items: tuple["Item", ...]
    display: bool = False
    comma: bool = False
    text: str = field(init=False)
    split: bool = field(init=False)

    def __post_init__(self) -> None:
        inside = ", ".join(map(_join, self.items)) + ("," if self.comma else "")
        object.__setattr__(self, "text", f"{self.opening}{inside}{_CLOSING[self.opening]}")
        split = any(map(_is_split, self.items)) or (self.comma and not self.is_one_tuple)
        object.__setattr__(self, "split", split)

    def __str__(self) -> str:
        return self.text

    @property
    def is_one_tuple(self) -> bool:
        """Return whether it is a tuple of one item, which needs its comma."""
        return self.comma and self.display and self.opening == "(" and len(self.items) == 1


Part: TypeAlias = str | FixedText | Text | Group
Item: TypeAlias = tuple[Part, ...]


def _join(item: Iterable[Part]) -> str:
    return "".join(map(str, item))


def _is_split(item: Iterable[Part]) -> bool:
    return any(isinstance(part, Group) and part.split for part in item)


def wrap_module(source: str) -> str:
    """Return a module with long statements on several lines; raise `UnknownStatement`."""
    pattern = _TOO_LONG if source.isascii() else _TOO_LONG_OR_UNEVEN
    too_long = [found.start() for found in pattern.finditer(source)]
    if not too_long:
        return source
    parts: list[str] = []
    for start, end in _statements(source):
        statement = source[start:end]
        text = statement.lstrip(" ")
        while too_long and too_long[0] < start:
            del too_long[0]
        if too_long and too_long[0] < end and not text.startswith(('"""', "#")):
            if not text.isascii():
                raise UnknownStatement(text)
            broken = _statement(text.rstrip("\n"), len(statement) - len(text))
            statement = "\n".join([*broken, ""])
        parts.append(statement)
    return "".join(parts)


def _statements(source: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each logical line."""
    start = depth = 0
    for token in _TOKEN.finditer(source):
        match token[0]:
            case "(" | "[" | "{":
                depth += 1
            case ")" | "]" | "}":
                depth -= 1
            case "\n" if not depth:
                yield start, token.end()
                start = token.end()
            case _:
                pass
    if start < len(source):
        yield start, len(source)


def _statement(text: str, indent: int) -> Iterator[str]:
    if imported := _IMPORT.fullmatch(text):
        names = tuple((name,) for name in imported[2].split(", "))
        return _group_lines((imported[1],), Group("(", names, comma=True), "", indent)
    statement = _parse_statement(text)
    if _FUNCTION.match(text):
        return _function(statement, indent)
    target, value = _split_assignment(statement)
    if len(list(_alternatives(statement))) > 1 or text.startswith("if "):
        raise UnknownStatement(text)
    return _assignment(target, value, indent) if value else lines(statement, indent)


def _function(statement: Item, indent: int) -> Iterator[str]:
    """Yield the head of a function, broken at its parameters."""
    name, parameters, *result = statement
    if not isinstance(parameters, Group) or not parameters.items:
        raise UnknownStatement(_join(statement))
    for parameter in parameters.items:
        _check_width(f"{' ' * (indent + 4)}{_join(parameter)},")
    if len(parameters.items) == 1:
        parameters = Group("(", parameters.items, comma=True)
    return _group_lines((name,), parameters, _join(result), indent)


def _split_assignment(statement: Item) -> tuple[Item, Item]:
    """Split an assignment into target and value; the value of other statements is empty."""
    for place, part in enumerate(statement):
        if isinstance(part, str) and " = " in part:
            before, _, after = part.partition(" = ")
            value = (after, *statement[place + 1 :])
            return (*statement[:place], f"{before} = "), tuple(part for part in value if part)
    return statement, ()


def _assignment(target: Item, value: Item, indent: int) -> Iterator[str]:
    """Yield an assignment: broken in its value, in its annotation, or with the value in brackets.

    Brackets are used if the value would otherwise not start on the first line, and only if the
    annotation has brackets.
    """
    *before, last = value
    *head, hint, tail = ("", *target)
    breakable = isinstance(last, Group) and bool(last.items)
    opening = len(_join((*target, *before))) + indent + 1
    if breakable and (not isinstance(hint, Group) or opening <= WIDTH):
        return lines((*target, *value), indent)
    if isinstance(hint, Group) and indent + len(_join(target)) >= WIDTH:
        closing = f"{_CLOSING[hint.opening]}{tail}"
        return _around(tuple(head), hint, (closing, *value), indent)
    annotated = ": " in _join(target)
    if not annotated and indent + 4 + len(_join(value)) > WIDTH:
        return iter([" " * indent + _join((*target, *value))])
    return _group_lines(target, Group("(", (value,), display=True), "", indent)


def _around(before: Item, group: Group, after: Item, indent: int) -> Iterator[str]:
    """Yield a broken group, with its closing bracket at the start of the item `after`."""
    yield _check_width(f"{' ' * indent}{_join(before)}{group.opening}")
    yield from _body(group, indent + 4)
    yield from lines(after, indent)


def lines(item: Item, indent: int, after: str = "") -> Iterator[str]:
    """Yield an expression on as many lines as it needs, followed by the text `after`."""
    line = f"{' ' * indent}{_join(item)}{after}"
    if len(line) <= WIDTH and not _is_split(item):
        yield line
        return
    *before, last = item
    alternatives = list(_alternatives(item))
    if len(alternatives) > 1:
        for alternative in alternatives[:-1]:
            yield from lines(alternative, indent)
        yield from lines(alternatives[-1], indent, after)
    elif isinstance(last, Group) and last.items:
        yield from _group_lines(tuple(before), last, after, indent)
    elif isinstance(last, Text):
        yield from _pieces(last.value, indent, _join(before), after)
    elif any(isinstance(part, Group) and part.items for part in item):
        raise UnknownStatement(line)
    else:
        yield line


def _group_lines(before: Item, group: Group, after: str, indent: int) -> Iterator[str]:
    yield _check_width(f"{' ' * indent}{_join(before)}{group.opening}")
    yield from _body(group, indent + 4)
    yield _check_width(f"{' ' * indent}{_CLOSING[group.opening]}{after}")


def _check_width(line: str) -> str:
    """Return a line; raise `UnknownStatement` if it is too long."""
    if len(line) > WIDTH:
        raise UnknownStatement(line)
    return line


def _body(group: Group, indent: int) -> Iterator[str]:
    """Yield the items of a group: on one line if they fit, unless they are a display."""
    inside = group.text[1:-1]
    alone = len(group.items) == 1 and not group.comma
    if not group.split and not group.display and not alone and indent + len(inside) <= WIDTH:
        yield " " * indent + inside
        return
    for item in group.items:
        yield from lines(item, indent, "" if alone else ",")


def _alternatives(item: Item) -> Iterator[Item]:
    """Yield the parts of an expression, cut before each `|` outside brackets."""
    current: list[Part] = []
    for part in item:
        first, *others = part.split(_OR) if isinstance(part, str) else (part,)
        current.append(first)
        for piece in others:
            yield tuple(current)
            current = [f"| {piece}"]
    yield tuple(current)


def _pieces(text: str, indent: int, before: str, after: str) -> Iterator[str]:
    """Yield a string in brackets: whole if it fits, else one piece on each line."""
    inner = " " * (indent + 4)
    pieces = [text]
    if len(inner) + len(literal(text)) > WIDTH:
        pieces = [""]
        for word in re.findall(r"\S+\s*|\s+", text):
            if pieces[-1] and len(inner) + len(literal(pieces[-1] + word)) > WIDTH:
                pieces.append("")
            pieces[-1] += word
    yield f"{' ' * indent}{before}("
    yield from (_check_width(inner + literal(piece)) for piece in pieces)
    yield f"{' ' * indent}){after}"


def _parse_statement(text: str) -> Item:
    tokens = filter(None, _SPLIT.split(_LINE_BREAK.sub(" ", text)))
    (statement,), _ = _items(tokens, outermost=True)
    return statement


def _items(tokens: Iterator[str], *, outermost: bool = False) -> tuple[list[Item], bool]:
    """Return the items up to the closing bracket, and whether they end with a comma."""
    items: list[Item] = []
    parts: list[Part] = []
    for token in tokens:
        if token in _CLOSING:
            display = not parts or str(parts[-1])[-1] in " ="
            inner, comma = _items(tokens)
            parts.append(Group(token, tuple(inner), display, comma))
        elif token in _CLOSING.values():
            break
        elif token == "," and not outermost:
            items.append(_strip_parts(parts))
            parts = []
        else:
            parts.append(FixedText(token) if token[0] in _QUOTES else token)
    last = _strip_parts(parts)
    return ([*items, last], False) if last else (items, bool(items))


def _strip_parts(parts: list[Part]) -> Item:
    """Return the parts of an item without blanks at its ends."""
    if parts and isinstance(parts[0], str):
        parts[0] = parts[0].lstrip()
    if parts and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip()
    return tuple(part for part in parts if part)
