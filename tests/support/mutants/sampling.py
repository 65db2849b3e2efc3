"""Samples of changes, by area: a seed chooses them, and other changes of the code do not."""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final

from support.mutants.mutations import Mutation, find_mutations

CODE: Final = "codegen/mcp_protogen"
_FEWEST: Final = 3
_ROOMS_WITH_FOLDERS: Final = ("instep", "pipeline", "runtime", "servers")


def area_of(path: str) -> str:
    """Return the folder of the map of the house that a file is in: "base", "pipeline/emit"."""
    *folders, _ = PurePosixPath(path).relative_to(CODE).parts
    depth = 2 if folders and folders[0] in _ROOMS_WITH_FOLDERS else 1
    return "/".join(folders[:depth]) or "modules"


def find_all(root: Path) -> dict[str, list[Mutation]]:
    """Return all changes of the code of a checkout, by area."""
    by_area = defaultdict[str, list[Mutation]](list)
    for file in sorted((root / CODE).rglob("*.py")):
        path = file.relative_to(root).as_posix()
        by_area[area_of(path)] += find_mutations(path, file.read_text("utf-8"))
    return dict(by_area)


def sample(mutations: Sequence[Mutation], seed: str, one_of: int) -> list[Mutation]:
    """Return a sample of an area's changes: at least three, and first one of each kind.

    The rank of a change depends on its file's name, its function and itself, so that edits of other
    code and moves of files keep the sample.
    """
    counts: dict[str, int] = defaultdict(int)
    ordered: list[tuple[int, str, Mutation]] = []
    for mutation in sorted(mutations, key=lambda mutation: _rank(mutation, seed)):
        ordered.append((counts[mutation.kind], _rank(mutation, seed), mutation))
        counts[mutation.kind] += 1
    ordered.sort(key=lambda entry: entry[:2])
    return [mutation for _, _, mutation in ordered[: max(_FEWEST, len(mutations) // one_of)]]


def _rank(mutation: Mutation, seed: str) -> str:
    place = mutation.place.rpartition("/")[2]
    return sha256(f"{seed} {place} {mutation.change}".encode()).hexdigest()
