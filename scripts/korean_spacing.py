"""Write the weights of the letters around a space in Korean text, in tenths of log odds.

`python scripts/korean_spacing.py FOLDER > rag/ingest/parsers/korean_spacing.json`, with a folder of Markdown
files. Those kept are learned from the Korean translation of React's documentation (src/content of
github.com/reactjs/ko.react.dev, commit 2e8c873, CC BY 4.0).
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from rag.ingest.parsers.line_ends import features, places

_CODE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|<[^>]*>|\{/?\*.*?\*/?\}", re.DOTALL)
_STRENGTH = 1.0  # inverse of the L1 penalty: a greater one keeps more weights


def texts(folder: Path) -> Iterator[str]:
    """Yield the lines of prose of the Markdown files in a folder."""
    for path in sorted(folder.rglob("*.md")):
        for line in _CODE.sub("", path.read_text("utf-8")).split("\n"):
            yield " ".join(line.split())


def learned(lines: Iterator[str]) -> dict[str, int]:
    """Return the weights of a logistic regression that are not zero; that of "" is its intercept."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    found = [place for line in lines for place in places(line)]
    vectors = DictVectorizer()
    matrix = vectors.fit_transform(dict.fromkeys(features(context), 1) for context, _ in found)
    matrix.indices, matrix.indptr = matrix.indices.astype("int32"), matrix.indptr.astype("int32")
    model = LogisticRegression(penalty="l1", C=_STRENGTH, solver="liblinear", random_state=0)
    model.fit(matrix, [spaced for _, spaced in found])
    names = ["", *vectors.get_feature_names_out()]
    values = [model.intercept_[0], *model.coef_[0]]
    weights = {name: round(10 * value) for name, value in zip(names, values, strict=True)}
    return {name: weight for name, weight in weights.items() if weight or not name}


if __name__ == "__main__":
    found = learned(texts(Path(sys.argv[1])))
    print(json.dumps(found, ensure_ascii=False, separators=(",", ":")))
