"""Run files: which passages a search found for each question, in four columns or TREC's six.

``query-id  corpus-id  rank  score``, or ``query-id  Q0  corpus-id  rank  score  tag``, with tabs or spaces.
"""

from collections.abc import Mapping
from pathlib import Path

from rag.errors import QuestionRefused
from rag.evaluation.beir import read_text

Run = Mapping[str, tuple[str, ...]]
"""Ids of passages by question, the first found first."""


def read_run(path: Path) -> Run:
    """Read a run file; raises QuestionRefused naming file and line."""
    ranked: dict[str, dict[str, float]] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            question, passage, rank = _columns(line, f"Line {number} of {path}")
            ranked.setdefault(question, {}).setdefault(passage, rank)
    return {question: tuple(sorted(of, key=lambda id_: of[id_])) for question, of in ranked.items()}


def _columns(line: str, place: str) -> tuple[str, str, float]:
    parts = line.split("\t") if "\t" in line else line.split()
    if len(parts) == 6:
        del parts[1]  # the iteration, which nobody uses
    try:
        question, passage, rank = parts[:3]
        if len(parts) in (4, 5):
            return question.strip(), passage.strip(), float(rank)
    except ValueError as error:
        raise QuestionRefused(f"{place} is not query-id, corpus-id, rank, score.") from error
    raise QuestionRefused(f"{place} is not query-id, corpus-id, rank, score, nor TREC's six columns.")
