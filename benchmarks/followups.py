"""Time to make a follow-up stand alone without a model, in a long conversation.

    python benchmarks/followups.py [--turns 2000] [--rounds 50] [--json]

Turns are made up of a few thousand random words a language, their answers longer than what is read of one.
Each round asks in English, Korean and Japanese. The whole conversation is handed over; in the app it is the
newest messages. No embedding model is asked.
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.chat.rewrite import make_standalone

_SYLLABLES = {
    "en": ["ba", "der", "fi", "gan", "lo", "mu", "ner", "pol", "rit", "sam", "tor", "ven"],
    "ko": ["강", "나", "도", "마", "바", "산", "소", "원", "정", "주", "하", "현"],
    "ja": ["山", "川", "港", "城", "契", "約", "機", "関", "博", "物", "教", "師"],
}
_ENDINGS = {"en": ["", "s", "ing"], "ko": ["은", "을", "의", "에서"], "ja": ["は", "を", "の", "に"]}
WORDS = {
    language: [f"{a}{b}{c}{end}" for a in parts for b in parts for c in parts for end in _ENDINGS[language]]
    for language, parts in _SYLLABLES.items()
}
FOLLOW_UPS = {
    "en": ("How deep is it?", "And in 2023?", "why?", "tell me more"),
    "ko": ("그건 얼마나 깊어?", "그럼 2023년은?", "왜요?", "더 알려줘"),
    "ja": ("それはどのくらい深い?", "2023年は?", "なぜ?", "もっと詳しく"),
}


def conversation(language: str, turns: int) -> list[tuple[str, str]]:
    """Return a made-up conversation: (role, content), oldest first."""
    rng = random.Random(1)

    def said(words: int) -> str:
        return " ".join(rng.choices(WORDS[language], k=words))

    pairs = ((("user", f"{said(8)}?"), ("assistant", f"{said(140)} [1].")) for _ in range(turns))
    return [message for pair in pairs for message in pair]


def times(turns: int, rounds: int) -> Iterator[float]:
    """Yield the milliseconds that each follow-up took, its query variants included."""
    histories = {language: conversation(language, turns) for language in FOLLOW_UPS}
    for _ in range(rounds):
        for language, questions in FOLLOW_UPS.items():
            for question in questions:
                begun = time.perf_counter()
                make_standalone(question, histories[language])
                yield (time.perf_counter() - begun) * 1000


def main() -> None:
    """Print the median, the 95th percentile and the worst."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    taken = sorted(times(options.turns, options.rounds))
    found = {
        "turns": options.turns,
        "follow_ups": len(taken),
        "p50_ms": round(statistics.median(taken), 2),
        "p95_ms": round(taken[int(len(taken) * 0.95)], 2),
        "worst_ms": round(taken[-1], 2),
    }
    print(json.dumps(found) if options.json else "\n".join(f"{name:<12} {v}" for name, v in found.items()))


if __name__ == "__main__":
    main()
