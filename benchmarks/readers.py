"""Bound what a model that reads can add: the checker with a perfect and with an adversarial reader.

    python benchmarks/readers.py FILE...

Each FILE is a set of judged claims in a form that `footnote eval citations` reads. Both readers are scripted
and quote for the statements that the code leaves open. The perfect one quotes nothing for a false statement,
and for a true one whatever convinces the code: each of the nearest windows of up to three sentences, and the
nearest of each part. The adversarial one says yes to everything, and quotes the two nearest windows. A last
one quotes words that stand nowhere. What they get verified is what the code lets through.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from rag.citations.checker import Checker, Evidence, parts
from rag.citations.lookup import Span
from rag.citations.reader import supporting
from rag.citations.support import OPEN
from rag.evaluation.claims import Claim, as_passages, load_claims
from rag.text.sentences import sentences
from rag.text.tokenize import tokens

NEAREST, OF_PART = 10, 3
LONGEST = 3
"""Sentences of a window."""
READERS = ("no reader", "perfect", "adversarial", "inventing")


def nearest(said: str, texts: Sequence[str]) -> list[Span]:
    """Return the windows of texts that share most words with a statement, the shorter ones first.

    >>> nearest("The mill is red.", ["It rains. The mill is old."])[0]
    Span(number=1, start=10, end=26)
    """
    asked = set(tokens(said))
    found: list[tuple[int, int, Span]] = []
    for number, text in enumerate(texts, 1):
        spans = sentences(text)
        for first, (start, _) in enumerate(spans):
            for size, (_, end) in enumerate(spans[first : first + LONGEST]):
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


def verified_by(claim: Claim) -> list[bool]:
    """Return whether a claim is verified with each of READERS."""
    passages = as_passages(claim.passages)
    checker = Checker(passages)
    found = checker.check(claim.text)

    def holds(evidence: Evidence) -> bool:
        return evidence.status == "verified"

    if found.status not in OPEN:
        return [holds(found)] * len(READERS)
    near = holds(checker.supported_by(claim.text, nearest(claim.text, claim.passages)[:2]))
    perfect = claim.supported and (
        near or any(holds(checker.supported_by(claim.text, q)) for q in quotes(claim))
    )
    invented = dict(supporting(f"1 | supports | 1 | {claim.text} So it is written there.", 1, passages))
    told = bool(invented) and holds(checker.supported_by(claim.text, invented[1]))
    return [False, perfect, near, told]


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
            print(f"{path.stem:16} {reader:12} true {rates[0]}  false {rates[1]}", flush=True)


if __name__ == "__main__":
    main()
