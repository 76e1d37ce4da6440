"""In which order a tree gives its leaves to a question: pure functions over ids and numbers."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

PER_SUMMARY = 3  # leaves that a summary found brings along
HELD_BACK = 1.0  # standard deviations of leaves: a summary, of many subjects, is near to any question


def collapsed(
    similarity: Mapping[str, float], leaves: Sequence[str], above: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return leaves, best first: each where it is found, or where a summary above it is found.

    `similarity` is of all nodes found, `leaves` are those of them that are leaves, `above` names each one's
    ancestors. A summary brings the leaves under it that are nearest the question, three at most: only
    what was found bears on it.

    >>> near = {"a": 0.9, "b": 0.8, "c": 0.2, "sum": 1.3}
    >>> collapsed(near, ["a", "b", "c"], {"b": ["sum"], "c": ["sum"]})
    ['b', 'c', 'a']
    """
    held = HELD_BACK * statistics.pstdev([similarity[id_] for id_ in leaves]) if leaves else 0.0
    nearest = sorted(leaves, key=lambda id_: (-similarity[id_], id_))
    below: dict[str, list[str]] = {}
    for leaf in nearest:
        for ancestor in above.get(leaf, ()):
            below.setdefault(ancestor, []).append(leaf)
    worth = {id_: value - (0.0 if id_ in nearest else held) for id_, value in similarity.items()}
    order: dict[str, None] = {}
    for id_ in sorted(worth, key=lambda id_: (-worth[id_], id_)):
        fresh = [id_] if id_ in nearest else [leaf for leaf in below.get(id_, []) if leaf not in order]
        order.update(dict.fromkeys(fresh[:PER_SUMMARY]))
    return list(order)


def in_turns(groups: Iterable[Iterator[str]]) -> Iterator[str]:
    """Yield one of each group, then the second of each, and so on; what was yielded before is passed over.

    >>> list(in_turns([iter("abc"), iter("x"), iter("ay")]))
    ['a', 'x', 'y', 'b', 'c']
    """
    waiting, seen = list(groups), set[str]()
    while waiting:
        going = []
        for group in waiting:
            fresh = next((id_ for id_ in group if id_ not in seen), None)
            if fresh is not None:
                seen.add(fresh)
                going.append(group)
                yield fresh
        waiting = going


def filled(ids: Iterable[str], size: Callable[[str], int], budget: int) -> list[str]:
    """Return ids in their order as long as their sizes fit into a budget, passing over what does not fit.

    It ends once a few have not fitted: what comes later bears less on the question.

    >>> filled("abcd", {"a": 5, "b": 9, "c": 4, "d": 1}.__getitem__, 10)
    ['a', 'c', 'd']
    """
    taken: list[str] = []
    left, missed = budget, 0
    for id_ in ids:
        if size(id_) <= left:
            taken.append(id_)
            left -= size(id_)
        elif (missed := missed + 1) > PER_SUMMARY:
            break
    return taken
