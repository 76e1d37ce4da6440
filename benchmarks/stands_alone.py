"""Fit and measure the recognition of questions that stand alone, by the vector of the question.

    python benchmarks/stands_alone.py XQUAD_EN KORQUAD JAQUAD [--fit]

`benchmarks/follow_ups/fit.jsonl` and `report.jsonl` hold `{"lang", "kind", "text"}`: turns in the middle of
a conversation about a lease that need it ("elliptic") or stand alone. 120 questions of each set are asked
there, too, as new questions: half of them belong to `fit`. Weights are those of a regularised logistic model
over the vectors of multilingual-e5-small; `--fit` fits them and writes them where the application reads them.
Printed is the share of each kind that gets terms of the conversation.
"""

import argparse
import json
import random
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.chat import followup
from rag.chat.followup import context_need, with_terms
from rag.evaluation.datasets import load
from rag.models.embeddings import Embedder, open_embedder
from rag.settings import default_model_cache
from rag.text.language import language

MODEL = "multilingual-e5-small"
DATA = Path(__file__).parent / "follow_ups"
REGULARISATION = 5.0  # inverse strength
QUESTIONS = 120  # of each set
LEASE = {
    "en": ("When does the lease end?", "The lease ends on 31 May 2027 [1]."),
    "ko": ("임대차 계약은 언제 끝나나요?", "임대차 계약은 2027년 5월 31일에 끝납니다 [1]."),
    "ja": ("賃貸借契約はいつ終わりますか?", "賃貸借契約は2027年5月31日に終わります[1]。"),
}


def read(name: str, sets: list[Path]) -> list[dict[str, str]]:
    """Return the turns of a half, with its half of the new questions."""
    with (DATA / f"{name}.jsonl").open(encoding="utf-8") as lines:
        turns = [json.loads(line) for line in lines]
    for path in sets:
        asked = sorted(load(path).questions.items())
        chosen = random.Random(7).sample(asked, QUESTIONS)
        half = chosen[name == "report" :: 2]
        turns += [{"lang": language(text), "kind": "new question", "text": text} for _, text in half]
    return turns


def fit(turns: list[dict[str, str]], embedder: Embedder) -> None:
    """Fit the weights and write them."""
    model = LogisticRegression(C=REGULARISATION, class_weight="balanced", max_iter=5000)
    vectors = np.asarray([embedder.embed_query(one["text"]) for one in turns])
    model.fit(vectors, [one["kind"] == "elliptic" for one in turns])
    row = [round(float(one), 3) for one in (*model.coef_[0], model.intercept_[0])]
    followup.WEIGHTS.write_text(json.dumps({MODEL: row}, separators=(",", ":")) + "\n", "utf-8")


def measure(name: str, turns: list[dict[str, str]], embedder: Embedder) -> None:
    """Print the share of each kind of turn that gets terms of the conversation."""
    carried: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in turns:
        asked, told = LEASE.get(one["lang"], LEASE["en"])
        completed = with_terms(one["text"], [("user", asked), ("assistant", told)])
        carried[one["lang"], one["kind"]].append(context_need(one["text"], completed, embedder) != "none")
    for (code, kind), all_ in sorted(carried.items()):
        print(f"{name:<7} {code} {kind:<13} {len(all_):>4}  {float(np.mean(all_)):.3f}")


def main() -> None:
    """Fit where that is asked for, and measure both halves."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    embedder = open_embedder(MODEL, cache=default_model_cache())
    if options.fit:
        fit(read("fit", options.sets), embedder)
    for name in ("fit", "report"):
        measure(name, read(name, options.sets), embedder)


if __name__ == "__main__":
    main()
