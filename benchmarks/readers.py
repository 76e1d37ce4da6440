"""Bound what a model that reads can add: the checker with perfect and with adversarial readers.

    python benchmarks/readers.py FILE...

Each FILE is a set of judged claims in a form that `footnote eval citations` reads. The readers are scripted,
and asked as a model is, for the statements that the code leaves open and the controls that it adds. They
quote a control only where a passage has it word for word, unless said otherwise:

- perfect: nothing for a false statement, for a true one whatever convinces the code: each of the nearest
  windows of up to three sentences, the nearest of each part, the nearest sentence or row with each other one,
  each paragraph or table, and up to five sentences that have most of its words together;
- credulous: yes to everything, controls as well, with the two nearest windows;
- silent on controls: yes to every statement, and nothing about controls;
- knowing: yes to every statement, although it tells controls apart. No honest reader does; it shows what is
  left to the code alone;
- inventing: words that stand nowhere.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rag.citations.asked import Span
from rag.citations.checker import Checker, Evidence, parts
from rag.citations.reader import StatementReader, read_evidence
from rag.citations.support import OPEN
from rag.evaluation.answers import Claim, as_passages, load_claims
from rag.jobs import never
from rag.models.protocol import Chat, LanguageModel, LLMSettings
from rag.passage import Passage
from rag.text.sentences import sentences
from rag.text.tokenize import tokens

NEAREST, OF_PART, GATHERED, PAIRED = 10, 3, 5, 60
LONGEST = 3
"""Sentences of a window."""
Script = Callable[[str], Sequence[str]]
"""Words that a reader quotes for a statement."""
READERS = ("no reader", "perfect", "credulous", "silent on controls", "knowing", "inventing")


class Scripted(LanguageModel):
    """Reader that quotes `words(statement)` for each statement that it is asked about."""

    settings = LLMSettings("http://127.0.0.1/", "scripted", context_tokens=1_000_000)

    def __init__(self, words: Script):
        self._words = words

    def stream(
        self,
        messages: Chat,
        *,
        max_tokens: int,
        cancelled: Callable[[], bool] = never,
    ) -> Iterator[str]:
        """Yield the lines of the reply."""
        asked = messages[1]["content"].split('<statement number="')[1:]
        for number, said in (one.split("</statement>")[0].split('">\n', 1) for one in asked):
            for words in self._words(said.strip("\n")):
                yield f"{number} | supports | {' … '.join(words.splitlines())}\n"


def nearest(said: str, texts: Sequence[str], longest: int = LONGEST) -> list[Span]:
    """Return the windows of texts that share most words with a statement, the shorter ones first.

    >>> nearest("The mill is red.", ["It rains. The mill is old."])[0]
    Span(number=1, start=10, end=26)
    """
    asked = set(tokens(said))
    found: list[tuple[int, int, Span]] = []
    for number, text in enumerate(texts, 1):
        spans = sentences(text)
        for first, (start, _) in enumerate(spans):
            for size, (_, end) in enumerate(spans[first : first + longest]):
                found.append(
                    (-len(asked.intersection(tokens(text[start:end]))), size, Span(number, start, end))
                )
    return [span for _, _, span in sorted(found, key=lambda one: one[:2])]


def quotes(claim: Claim) -> Iterator[list[Span]]:
    """Yield what a perfect reader may quote for a true claim."""
    yield from ([span] for span in nearest(claim.text, claim.passages)[:NEAREST])
    told = [nearest(part, claim.passages) for part in parts(claim.text)]
    if len(told) > 1:
        yield from ([span for spans in told for span in spans[:count]] for count in range(1, OF_PART + 1))
    single = nearest(claim.text, claim.passages, 1)
    yield from ([single[0], other] for other in single[1:PAIRED])
    blocks = (re.finditer(r"\S.*?(?=\n\s*\n|\Z)", text, re.DOTALL) for text in claim.passages)
    yield from ([Span(n, *one.span())] for n, found in enumerate(blocks, 1) for one in found)
    covering = list(gathered(claim.text, claim.passages))
    yield from (
        spans[:count] for spans in (covering, single[:GATHERED]) for count in range(2, len(spans) + 1)
    )


def gathered(said: str, texts: Sequence[str]) -> Iterator[Span]:
    """Yield sentences of which each has most of a statement's words that those before it lack.

    >>> list(gathered("Ann mills corn.", ["Ann mills. The mill is old. It mills corn."]))
    [Span(number=1, start=0, end=10), Span(number=1, start=28, end=42)]
    """
    asked = set(tokens(said))
    given = {span: asked.intersection(tokens(_words(span, texts))) for span in nearest(said, texts, 1)}
    for _ in range(GATHERED):
        span = max(given, key=lambda one: len(given[one]), default=None)
        if span is None or not given[span]:
            return
        yield span
        given = {other: words - given[span] for other, words in given.items()}


def _words(span: Span, texts: Sequence[str]) -> str:
    return texts[span.number - 1][span.start : span.end]


def verified_by(claim: Claim) -> list[bool]:
    """Return whether a claim is verified with each of READERS."""
    passages = as_passages(claim.passages)
    found = Checker(passages).check(claim.text)
    if found.status not in OPEN:
        return [found.status == "verified"] * len(READERS)

    folded = [" ".join(text.split()) for text in claim.passages]

    def copied(said: str) -> list[str]:
        return [said] if any(" ".join(said.split()) in text for text in folded) else []

    def words(spans: Sequence[Span]) -> list[str]:
        return [_words(span, claim.passages) for span in spans]

    def knowing(spans: Sequence[Span]) -> Script:
        given = words(spans)
        return lambda said: given if said == claim.text else copied(said)

    two = nearest(claim.text, claim.passages)[:2]
    scripts: list[Script] = [
        lambda _: words(two),
        lambda said: words(two) if said == claim.text else [],
        knowing(two),
        lambda said: [f"{said} So it is written there."],
    ]
    perfect = claim.supported and any(_holds(claim, passages, knowing(q)) for q in quotes(claim))
    return [False, perfect, *(_holds(claim, passages, script) for script in scripts)]


def _holds(claim: Claim, passages: Sequence[Passage], script: Script) -> bool:
    found: dict[int, Evidence]
    found, _ = read_evidence([claim.text], passages, StatementReader(Scripted(script)))
    return any(one.status == "verified" for one in found.values())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the shares of true and false claims that are verified with each reader."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    for path in parser.parse_args(arguments).files:
        claims = load_claims(path)
        judged = [(claim.supported, verified_by(claim)) for claim in claims]
        for at, reader in enumerate(READERS):
            rates = []
            for supported in (True, False):
                taken = [found[at] for truth, found in judged if truth == supported]
                rates.append(f"{sum(taken) / len(taken):.3f} of {len(taken):4}" if taken else "none       ")
            print(f"{path.stem:16} {reader:18} true {rates[0]}  false {rates[1]}", flush=True)


if __name__ == "__main__":
    main()
