"""Fit and measure the recognition of requests that rework the last answer, by the vector of the message.

    python benchmarks/rework.py [--fit]

`benchmarks/rework/fit.jsonl` and `report.jsonl` hold `{"lang", "kind", "text"}`: what people may type after
an answer, in English, Korean and Japanese. Kind "new" is a question that has to be searched; the others ask
for the answer in another length, form, language or wording, for a comparison with an earlier one, or what it
said. Weights are those of a regularised softmax over the vectors of multilingual-e5-small; `--fit` fits them
to fit.jsonl and writes them where the application reads them.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.chat import rework
from rag.models.embeddings import Embedder, Floats, open_embedder
from rag.settings import default_model_cache

MODEL = "multilingual-e5-small"
DATA = Path(__file__).parent / "rework"
REGULARISATION = 30.0  # inverse strength, chosen by cross-validation on fit.jsonl
SHORTER, FORM = "shorter", "form"
WORKED = {"shorter": SHORTER, "compare": "compare", "recall": "recall", "new": "new"}


def read(name: str) -> list[dict[str, str]]:
    """Return the messages of a file."""
    with (DATA / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def class_of(message: dict[str, str]) -> str:
    """Return the class of a message: what kind of rework the application does for it, or "new"."""
    return WORKED.get(message["kind"], FORM)


def vectors(messages: list[dict[str, str]], embedder: Embedder) -> Floats:
    """Return the vectors of messages, one a row."""
    return np.asarray([embedder.embed_query(one["text"]) for one in messages])


def fit(embedder: Embedder) -> None:
    """Fit the weights and write them."""
    messages = read("fit")
    model = LogisticRegression(C=REGULARISATION, max_iter=5000)
    model.fit(vectors(messages, embedder), [class_of(one) for one in messages])
    rows = {
        str(name): [round(float(one), 3) for one in (*weights, bias)]
        for name, weights, bias in zip(model.classes_, model.coef_, model.intercept_, strict=True)
    }
    written = json.dumps({MODEL: rows}, separators=(",", ":")).replace("],", "],\n")
    rework.WEIGHTS.write_text(written + "\n", "utf-8")


def measure(name: str, embedder: Embedder) -> None:
    """Print how many messages of a file are recognised, by the listed phrases alone and with vectors."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for one in read(name):
        asked = "new" if one["kind"] == "new" else "rework"
        listed, found = rework.rework_asked(one["text"]), rework.rework_asked(one["text"], embedder)
        counts[one["lang"], asked, "all"] += 1
        counts[one["lang"], asked, "listed"] += listed is not None
        counts[one["lang"], asked, "found"] += found is not None
        counts[one["lang"], asked, "kind"] += found == class_of(one)
    for language in sorted({key[0] for key in counts}):
        for asked in ("rework", "new"):
            told = {of: counts[language, asked, of] for of in ("all", "listed", "found", "kind")}
            print(name, language, asked, json.dumps(told))


def main() -> None:
    """Fit where that is asked for, and measure both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fit", action="store_true")
    asked = parser.parse_args()
    embedder = open_embedder(MODEL, cache=default_model_cache())
    if asked.fit:
        fit(embedder)
    for name in ("fit", "report"):
        measure(name, embedder)


if __name__ == "__main__":
    main()
