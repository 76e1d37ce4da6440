"""Count the lies of one changed word that the checker takes for true, by kind and language.

    python benchmarks/lies.py FOLDER... [--kind KIND] [--each 40] [--seed 1] [--show]

FOLDER holds `corpus.jsonl` (one object a line with `text`), as the sets that `footnote eval retrieval` reads.
Each lie is a sentence of a passage in which one word or clause that matters is changed, by `lies.txt`: "must"
to "may", "days" to "weeks", a condition left out. The passage stays as it is.
"""

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.citations.checker import Checker
from rag.passage import Passage
from rag.text.sentences import sentences

PASSAGE_CHARS = 1200
LEAST_CHARS = {"en": 30, "ko": 15, "ja": 15}
MOST_CHARS = 300

TABLE = Path(__file__).with_suffix(".txt")


@dataclass(frozen=True)
class Change:
    """Change of a sentence that makes it untrue."""

    language: str
    kind: str
    pattern: re.Pattern[str]
    put: str

    def apply(self, text: str) -> str:
        """Return the text with the first match changed; the text itself where nothing matches."""
        match = self.pattern.search(text)
        if not match:
            return text
        said = text[: match.start()] + self._replacement(match) + text[match.end() :]
        return said[:1].upper() + said[1:]

    def _replacement(self, match: re.Match[str]) -> str:
        if self.put == "=drop-not":
            return match[0].split()[0]
        if self.put == "=affirm-ko":
            return {"다": "다", "는다": "는다", "았다": "았다"}[match[0].removeprefix("지 않")]
        return "" if self.put == "^" else self.put


def changes() -> list[Change]:
    """Return the changes of the table."""
    read = []
    for line in TABLE.read_text("utf-8").splitlines()[1:]:
        head, rest = line.split("|", 1)
        pattern, put = rest.rsplit("=>", 1)
        language, kind = head.split()
        read.append(Change(language, kind, re.compile(pattern.strip()), put.strip()))
    return read


@dataclass(frozen=True)
class Lie:
    """Changed sentence beside the sentence and the passage that it was made of."""

    language: str
    kind: str
    told: str
    said: str
    passage: str


def _language(text: str) -> str:
    if re.search("[\u3041-\u30ff]", text):
        return "ja"
    return "ko" if re.search("[가-힣]", text) else "en"


def passages(folder: Path) -> Iterator[str]:
    """Yield the passages of a data set, cut to `PASSAGE_CHARS` at the end of a sentence."""
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            cut = text[:PASSAGE_CHARS]
            ends = [end for _, end in sentences(cut)]
            yield cut if len(text) <= PASSAGE_CHARS or len(ends) < 2 else cut[: ends[-2]]


def lies(texts: Sequence[str], seed: int, each: int) -> list[Lie]:
    """Return at most `each` lies of a language and kind, one a sentence, in a reproducible order."""
    shuffled = list(texts)
    random.Random(seed).shuffle(shuffled)
    known, taken = changes(), defaultdict(list)
    for text in shuffled:
        fitting = [change for change in known if change.language == _language(text)]
        for told in _told(text):
            wanted = [change for change in fitting if len(taken[change.language, change.kind]) < each]
            lie = next((one for change in wanted if (one := _lie(change, told, text))), None)
            if lie:
                taken[lie.language, lie.kind].append(lie)
    return [lie for made in taken.values() for lie in made]


def _told(text: str) -> Iterator[str]:
    least = LEAST_CHARS[_language(text)]
    for start, end in sentences(text):
        told = text[start:end].strip()
        if "\n" not in told and least <= len(told) <= MOST_CHARS:
            yield told


def _lie(change: Change, told: str, text: str) -> Lie | None:
    said = change.apply(told)
    if said == told or (change.kind != "condition" and said[1:] in text):
        return None
    return Lie(change.language, change.kind, told, said, text)


def is_verified(said: str, passage: str) -> bool:
    """Return True where the checker verifies a sentence by a passage."""
    checker = Checker([Passage("c", "d", "a.txt", "", None, "", 0, len(passage), passage)])
    return checker.check(said).status == "verified"


def main() -> None:
    """Print the share of lies that are verified, by language and kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--kind")
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for folder in asked.folders:
        for lie in lies(list(passages(folder)), asked.seed, asked.each):
            if asked.kind in (None, lie.kind):
                taken = is_verified(lie.said, lie.passage)
                counts[lie.language, lie.kind][0] += taken
                counts[lie.language, lie.kind][1] += 1
                if taken and asked.show:
                    print(f"  {lie.kind}: {lie.told}\n  -> {lie.said}")
    for (language, kind), (taken, made) in sorted(counts.items()):
        print(f"{language} {kind:<11} {taken:4} of {made:4}")
    print(f"all            {sum(t for t, _ in counts.values())} of {sum(m for _, m in counts.values())}")


if __name__ == "__main__":
    main()
