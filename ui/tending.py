"""Work for several owners, of whom one may fail: the others have theirs done."""

from collections.abc import Callable, Iterable

from storage.errors import FootnoteError


def do_all(work: Iterable[Callable[[], object]]) -> None:
    """Do each piece of work, though others fail; the first failure is raised at the end."""
    failures: list[FootnoteError] = []
    for one in work:
        try:
            one()
        except FootnoteError as error:
            failures.append(error)
    if failures:
        raise failures[0]
