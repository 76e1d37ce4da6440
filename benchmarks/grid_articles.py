"""Write the articles of `benchmarks/grid_truth/articles_and_mail.json` from three public question sets.

    python benchmarks/grid_articles.py KORQUAD.json JAQUAD.jsonl XQUAD.jsonl FOLDER

KORQUAD.json is the development set of KorQuAD 1.0. The others have a paragraph a line, with `title` and
`text`: the development set of JaQuAD and the English part of XQuAD. An article is its title and its
paragraphs, in their order, as one text file.
"""

import argparse
import json
from pathlib import Path

TRUTH = Path(__file__).with_name("grid_truth") / "articles_and_mail.json"


def of_korquad(path: Path) -> dict[str, list[str]]:
    """Return the paragraphs of KorQuAD by their articles."""
    articles = json.loads(path.read_text("utf-8"))["data"]
    return {one["title"]: [paragraph["context"] for paragraph in one["paragraphs"]] for one in articles}


def of_lines(path: Path) -> dict[str, list[str]]:
    """Return the paragraphs of a file with one a line by their articles."""
    found: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").split("\n"):
        if line.strip():
            paragraph = json.loads(line)
            found.setdefault(paragraph["title"], []).append(paragraph["text"])
    return found


def main() -> None:
    """Write each article that the truth names."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("korquad", "jaquad", "xquad", "folder"):
        options.add_argument(name, type=Path)
    given = options.parse_args()
    articles = of_korquad(given.korquad) | of_lines(given.jaquad) | of_lines(given.xquad)
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in json.loads(TRUTH.read_text("utf-8"))["cells"]:
        title = name.removesuffix(".txt")
        if title in articles:
            text = "\n\n".join([title.replace("_", " "), *articles[title]])
            (given.folder / name).write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main()
