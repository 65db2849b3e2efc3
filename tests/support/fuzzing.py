"""Inputs that are bent at random but reproducibly: from seeds, and pieces to put into them.

Not by Hypothesis, because a million inputs must take only a minute.
"""

from collections.abc import Iterator, Sequence
from json import dumps
from random import Random
from typing import Any, Final

_MOST_BENDS: Final = 5

_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 1.5, 1e300, 10**400, "", "x", "\0", "\n", "é", "\U0001f600"),
    *([], {}, [[]], [None], [""], ["x"], ["x", 1], {"x": "y"}, [{}], "https://x", "javascript:x"),
    *("https://x/\u202e", "https://x y", "//x", "https://x#y", "http://[::1", ["https://x"] * 99),
)
"""What a member of a document may be in place of what it should be."""


def bent(seeds: Sequence[str], pieces: Sequence[str], amount: int) -> Iterator[str]:
    """Yield seeds with parts of them cut out, doubled, moved, or replaced by pieces."""
    random = Random(f"{amount} {len(seeds)}")
    for _ in range(amount):
        text = random.choice(seeds)
        for _ in range(random.randint(1, _MOST_BENDS)):
            text = _bent_once(text, random, seeds, pieces)
        yield text


def _bent_once(text: str, random: Random, seeds: Sequence[str], pieces: Sequence[str]) -> str:
    begin = random.randint(0, len(text))
    end = min(len(text), begin + random.choice((0, 0, 1, 1, 2, 5, 20)))
    match random.randrange(6):
        case 0:
            return text[:begin] + text[end:]
        case 1:
            return text[:end] + text[begin:end] * random.choice((1, 2, 50)) + text[end:]
        case 2:
            return text[:begin] + chr(random.choice((random.randrange(128), 0x100, 0x2028)))
        case 3:
            other = random.choice(seeds)
            return text[:begin] + other[random.randint(0, len(other)) :]
        case _:
            return text[:begin] + random.choice(pieces) + text[end:]


def bent_documents(seeds: Sequence[dict[str, Any]], amount: int) -> Iterator[bytes]:
    """Yield JSON documents with wrong members, and texts that are not JSON."""
    random = Random(f"{amount} {len(seeds)}")
    for _ in range(amount):
        members: dict[str, Any] = dict(random.choice(seeds))
        for _ in range(random.randint(1, _MOST_BENDS)):
            name = random.choice([*members, "x"])
            if random.random() < 0.2:
                members.pop(name, None)
            else:
                members[name] = random.choice(_VALUES)
        body = dumps(members, ensure_ascii=random.random() < 0.5).encode()
        if random.random() < 0.3:
            at = random.randrange(len(body))
            body = body[:at] + random.randbytes(random.randint(0, 3)) + body[at + 1 :]
        yield body
