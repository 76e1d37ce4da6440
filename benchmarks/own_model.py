"""Time until a local model begins to answer: `python benchmarks/own_model.py [--model NAME] [--json]`.

Four passages of full length are made in each of three languages, with one fact in each; the model is asked
for each fact in turn, through the same `answer` as in the app. The passages come in another order each time,
so that little of a prompt was read before. The first line has the start of its server in it. The model must
be installed: `footnote model install`.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from rag.chat.answer import Done, Token, answer
from rag.models.local.catalog import QWEN_1_5B, ModelChoice
from rag.models.local.server import LocalModel
from rag.passage import Passage
from rag.settings import default_model_cache
from rag.text.chunking import SIZE

TOPICS = {
    "en": (
        "The {0} harbour handled {1} containers in 2024. ",
        "The council met again, and spoke for a long while of other things that year. ",
        "How many containers did the {0} harbour handle in 2024?",
        ("Busan", "Kobe", "Rotterdam", "Halifax"),
    ),
    "ko": (
        "{0} 항구는 2024년에 컨테이너 {1}개를 처리했다. ",
        "위원회는 그해에 다시 모여 다른 여러 가지 일을 오래 논의했다. ",
        "{0} 항구는 2024년에 컨테이너를 몇 개 처리했는가?",
        ("부산", "고베", "로테르담", "핼리팩스"),
    ),
    "ja": (
        "{0}港は2024年に{1}個のコンテナを取り扱った。",
        "委員会はその年にもう一度集まり、ほかのさまざまなことを長く話し合った。",
        "{0}港は2024年にいくつのコンテナを取り扱ったか。",
        ("釜山", "神戸", "ロッテルダム", "ハリファックス"),
    ),
}


@dataclass(frozen=True)
class Asked:
    """One question: seconds to the first word and to the last, and whether the number was right and cited."""

    language: str
    first_token: float
    total: float
    right: bool
    cited: bool


def passages(language: str, first: int) -> list[Passage]:
    """Return four passages of full length, from place number `first` on, each with its fact in its middle."""
    fact, filler, _, places = TOPICS[language]
    width = SIZE if language == "en" else int(SIZE / 2.7)  # as the splitter cuts them
    half = filler * (width // 2 // len(filler))
    made = [
        _passage(f"{place}.md", half + fact.format(place, 4100 + 37 * number) + half)
        for number, place in enumerate(places)
    ]
    return made[first:] + made[:first]


def _passage(name: str, text: str) -> Passage:
    return Passage(name, name, name, "", None, "", 0, len(text), text)


def ask_all(model: LocalModel) -> Iterator[Asked]:
    """Ask for every fact, in every language."""
    for language, (_, _, question, places) in TOPICS.items():
        for number, place in enumerate(places):
            given = passages(language, (number + 2) % len(places))
            yield _ask(model, language, question.format(place), given, str(4100 + 37 * number))


def _ask(model: LocalModel, language: str, question: str, given: list[Passage], wanted: str) -> Asked:
    begun, first = time.perf_counter(), 0.0
    for event in answer(question, given, llm=model):
        if isinstance(event, Token) and not first:
            first = time.perf_counter() - begun
        if isinstance(event, Done):
            right = wanted in event.text.replace(",", "")
            cited = any(citation.status == "verified" for citation in event.citations)
    return Asked(language, first, time.perf_counter() - begun, right, cited)


def served_bytes() -> int:
    """Return the memory of the model's process, its file included."""
    return sum(child.memory_info().rss for child in psutil.Process().children())


def main() -> None:
    """Ask, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default=QWEN_1_5B.name, help="a name, or a GGUF file's path")
    parser.add_argument("--cache", type=Path, default=default_model_cache())
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    choice = ModelChoice.of(options.model, options.cache)
    with LocalModel(choice.path, name=choice.name, context_tokens=8192) as model:
        asked = []
        for one in ask_all(model):
            asked.append(one)
            print(json.dumps(asdict(one)) if options.json else _line(one), flush=True)
        found = {
            "model": choice.name,
            "with_start": round(asked[0].first_token, 1),
            "first_token_p50": round(statistics.median(one.first_token for one in asked[1:]), 1),
            "first_token_max": round(max(one.first_token for one in asked[1:]), 1),
            "right": sum(one.right for one in asked),
            "cited": sum(one.cited for one in asked),
            "of": len(asked),
            "megabytes": served_bytes() // 1_000_000,
            "load": round(os.getloadavg()[0], 1),
        }
    print(json.dumps(found))


def _line(one: Asked) -> str:
    return (
        f"{one.language}  first word {one.first_token:5.1f} s  last {one.total:5.1f} s  "
        f"{'right' if one.right else 'wrong'}, {'cited' if one.cited else 'not cited'}"
    )


if __name__ == "__main__":
    main()
