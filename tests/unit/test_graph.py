"""Order and cycles among references, in a number of steps that grows with theirs."""

from collections.abc import Iterator

from mcp_protogen.base import graph


class Counted(dict[str, list[str]]):
    """A graph that counts how often the dependencies of a node are looked up."""

    looked_up = 0

    def __getitem__(self, node: str) -> list[str]:
        self.looked_up += 1
        return super().__getitem__(node)


def chain(length: int) -> Iterator[tuple[str, list[str]]]:
    yield from ((str(number), [str(number + 1)]) for number in range(length))


def test_dependencies_come_first_and_unknown_ones_count_for_nothing() -> None:
    assert graph.dependencies_first(dict(chain(3))) == ["2", "1", "0"]
    assert graph.dependencies_first({"a": ["c", "b"], "b": [], "c": ["b"]}) == ["b", "c", "a"]
    assert sorted(graph.dependencies_first({"a": ["b"], "b": ["a"], "c": ["c"]})) == ["a", "b", "c"]


def test_circles_are_told_from_what_only_leads_to_them() -> None:
    outside = {"f": [], "own": ["own"], "before": ["a", "own"]}
    first = {"a": ["b"], "b": ["c", "b2"], "b2": ["a"], "c": ["d"]}
    found = graph.circular({**first, "d": ["e"], "e": ["d", "f"], **outside})
    assert found == {"a", "b", "b2", "d", "e", "own"}


def test_work_grows_with_the_number_of_references() -> None:
    work: list[int] = []
    for length in (1_000, 5_000):
        counted = Counted(chain(length))
        assert len(graph.dependencies_first(counted)) == length
        assert graph.circular(counted) == set()
        work.append(counted.looked_up)
    assert work[1] == 5 * work[0]
