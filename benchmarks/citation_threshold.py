"""Fit the least share of words of a verified statement, by the facts it states, leaving one set out.

    python benchmarks/citation_threshold.py FILE...

Each FILE is a set of judged claims in a form that `footnote eval citations` reads. A statement with numbers,
times or names needs a smaller share of its words, since those are compared by value: the threshold falls by a
step for each of at most two. Threshold and step are those that verify most true statements of the other sets
while the mean share of false ones verified is at most `MOST_FALSE`; they are measured on the set left out.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from rag.citations.checker import MOST_FACTS, Checker
from rag.citations.claims import Sentence
from rag.evaluation.claims import as_passages, load_claims

MOST_FALSE = 0.03
LEAST = 0.3
"""Least score that is looked at: below it hardly any word is shared."""
THRESHOLDS = [round(0.4 + 0.05 * n, 2) for n in range(8)]
STEPS = (0.0, 0.025, 0.05, 0.075, 0.1)


@dataclass(frozen=True)
class Scored:
    """Judged claim with its score, 0 where something differs, and the facts that it states."""

    supported: bool
    score: float
    facts: int


def scored(path: Path, *, unspaced: bool) -> list[Scored]:
    """Return the claims of a set, those in Korean, Japanese and Chinese or all others."""
    found = []
    for claim in load_claims(path):
        said = Sentence(claim.text, 0, len(claim.text))
        if said.unspaced == unspaced:
            evidence = Checker(as_passages(claim.passages), least=LEAST).check(claim.text)
            score = evidence.score if evidence.status == "verified" else 0.0
            found.append(Scored(claim.supported, score, min(said.facts, MOST_FACTS)))
    return found


def rates(claims: Sequence[Scored], threshold: float, step: float) -> tuple[float, float]:
    """Return the shares of true and of false claims that are verified.

    >>> rates([Scored(True, 0.5, 1), Scored(True, 0.5, 0), Scored(False, 0.2, 2)], 0.55, 0.05)
    (0.5, 0.0)
    """

    def share(supported: bool) -> float:
        taken = [c.score >= threshold - step * c.facts for c in claims if c.supported == supported]
        return sum(taken) / len(taken) if taken else 0.0

    return share(True), share(False)


def fitted(sets: Sequence[Sequence[Scored]]) -> tuple[float, float]:
    """Return the threshold and step that are best on some sets, each set counting the same."""

    def value(pair: tuple[float, float]) -> tuple[bool, float]:
        found = [rates(claims, *pair) for claims in sets]
        true, false = (sum(column) / len(found) for column in zip(*found, strict=True))
        return (false <= MOST_FALSE, true if false <= MOST_FALSE else -false)

    return max(product(THRESHOLDS, STEPS), key=value)


def report(sets: Mapping[str, Sequence[Scored]]) -> None:
    """Print what each set gives with the threshold of the others, and the threshold of all."""
    for name, claims in sets.items():
        others = [other for other_name, other in sets.items() if other_name != name]
        pair = fitted(others or [claims])
        true, false = rates(claims, *pair)
        print(f"{name:20} {len(claims):5} claims  threshold {pair[0]:.2f} step {pair[1]:.3f}  "
              f"true {true:.3f}  false {false:.3f}")  # fmt: skip
    print("all sets: threshold {:.2f} step {:.3f}".format(*fitted(list(sets.values()))))


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit and report, scripts with spaces between words apart from those without."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    for unspaced in (False, True):
        sets = {path.stem: scored(path, unspaced=unspaced) for path in options.files}
        print("Korean, Japanese, Chinese" if unspaced else "Other languages")
        report({name: claims for name, claims in sets.items() if claims})


if __name__ == "__main__":
    main()
