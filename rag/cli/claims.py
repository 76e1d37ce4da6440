"""`footnote eval citations`: how often what is shown as verified is right, over claims judged by people."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from rag.citations.checker import Checker
from rag.citations.judges import Judge
from rag.cli.common import Commands, Options
from rag.cli.progress import ProgressBar
from rag.evaluation.claims import Claim, Verdict, as_passages, load_claims, measured, verdict
from rag.factory import make_embedder, make_judge, make_llm
from rag.settings import Settings

DESCRIPTION = """Check each claim of a file against its passages, as the app checks an answer's sentences, and
compare with what people found. Reads JSON lines {"claim", "passages", "supported"}, WiCE and ExpertQA."""
LOWEST = 0.3
THRESHOLDS = tuple(round(LOWEST + 0.05 * step, 2) for step in range(15))


def add_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    citations = kinds.add_parser("citations", help="how right citations are", description=DESCRIPTION)
    add = citations.add_argument
    add("file", type=Path, metavar="FILE", help="claims with their passages and whether they are supported")
    add("--words", action="store_true", help="by words alone, without the embedding model")
    add("--judge", metavar="NAME", help="a cross-encoder's folder or hub id, or llm: the connected model")
    add("--curve", action="store_true", help="precision and recall at other thresholds, too")
    add("--json", action="store_true", help="one JSON line")
    citations.set_defaults(command=citations_command)


def citations_command(settings: Settings, options: Options) -> int:
    """Print what was measured over the claims of a file."""
    claims = load_claims(options.file)
    check = partial(
        Checker,
        embedder=None if options.words else make_embedder(settings),
        judge=_judge(settings, options),
    )
    begun = time.perf_counter()
    verdicts = _verdicts(claims, check)
    spent = time.perf_counter() - begun
    report: dict[str, Any] = {
        "dataset": options.file.stem,
        "claims": len(claims),
        "supported": sum(claim.supported for claim in claims),
        **{status: sum(v.status == status for v in verdicts) for status in ("related", "unsupported")},
        **asdict(measured(verdicts)),
        "ms_per_claim": round(1000 * spent / len(claims), 2),
    }
    if options.curve:
        report["curve"] = _curve(_verdicts(claims, partial(check, judge=None, least=LOWEST)))
    print(json.dumps(report, ensure_ascii=False) if options.json else _lines(report))
    return 0


def _judge(settings: Settings, options: Options) -> Judge | None:
    chosen = settings.model_copy(update={"citation_judge": options.judge or settings.citation_judge})
    return make_judge(chosen, make_llm(chosen))


def _verdicts(claims: Sequence[Claim], check: Callable[..., Checker]) -> list[Verdict]:
    verdicts = []
    with closing(ProgressBar({"checking": "checking {total} claims."})) as told:
        for done, claim in enumerate(claims, 1):
            verdicts.append(verdict(claim, check(as_passages(claim.passages))))
            told("checking", done, len(claims))
    return verdicts


def _curve(verdicts: Sequence[Verdict]) -> list[dict[str, float]]:
    return [
        {"threshold": threshold, "precision": found.precision, "recall": found.recall}
        for threshold in THRESHOLDS
        for found in (measured(verdicts, threshold),)
    ]


def _lines(report: dict[str, Any]) -> str:
    """Return a report as a person reads it: a line a figure, a line a threshold."""
    figures = [f"{name:<13} {value}" for name, value in report.items() if name != "curve"]
    points = [
        f"{point['threshold']:.2f}  precision {point['precision']:.3f}  recall {point['recall']:.3f}"
        for point in report.get("curve", ())
    ]
    return "\n".join([*figures, *points])
