"""Fit the least score of a verified statement, leaving one set out.

    python benchmarks/citation_threshold.py FILE...

Each FILE is a set of judged claims in a form that `footnote eval citations` reads. The threshold is that
which verifies most true statements of the other sets while the mean share of false ones verified is at most
`MOST_FALSE`; it is measured on the set left out.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.citations.checker import Checker
from rag.citations.sentence import Sentence
from rag.evaluation.answers import as_passages, load_claims

MOST_FALSE = 0.03
LEAST = 0.3
"""Least score that is looked at: below it hardly any word is shared."""
THRESHOLDS = [round(0.4 + 0.05 * n, 2) for n in range(8)]


@dataclass(frozen=True)
class Scored:
    """Judged claim with its score, 0 where something differs."""

    supported: bool
    score: float


def scored(path: Path, *, unspaced: bool) -> list[Scored]:
    """Return the claims of a set, those in Korean, Japanese and Chinese or all others."""
    found = []
    for claim in load_claims(path):
        said = Sentence(claim.text, 0, len(claim.text))
        if said.unspaced == unspaced:
            evidence = Checker(as_passages(claim.passages), least=LEAST).check(claim.text)
            score = evidence.score if evidence.status == "verified" else 0.0
            found.append(Scored(claim.supported, score))
    return found


def rates(claims: Sequence[Scored], threshold: float) -> tuple[float, float]:
    """Return the shares of true and of false claims that are verified.

    >>> rates([Scored(True, 0.6), Scored(True, 0.5), Scored(False, 0.2)], 0.55)
    (0.5, 0.0)
    """

    def share(supported: bool) -> float:
        taken = [c.score >= threshold for c in claims if c.supported == supported]
        return sum(taken) / len(taken) if taken else 0.0

    return share(True), share(False)


def fitted(sets: Sequence[Sequence[Scored]]) -> float:
    """Return the threshold that is best on some sets, each set counting the same."""

    def value(threshold: float) -> tuple[bool, float]:
        found = [rates(claims, threshold) for claims in sets]
        true, false = (sum(column) / len(found) for column in zip(*found, strict=True))
        return (false <= MOST_FALSE, true if false <= MOST_FALSE else -false)

    return max(THRESHOLDS, key=value)


def report(sets: Mapping[str, Sequence[Scored]]) -> None:
    """Print what each set gives with the threshold of the others, and the threshold of all."""
    for name, claims in sets.items():
        others = [other for other_name, other in sets.items() if other_name != name]
        threshold = fitted(others or [claims])
        true, false = rates(claims, threshold)
        print(
            f"{name:20} {len(claims):5} claims  threshold {threshold:.2f}  true {true:.3f}  false {false:.3f}"
        )
    print(f"all sets: threshold {fitted(list(sets.values())):.2f}")


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
