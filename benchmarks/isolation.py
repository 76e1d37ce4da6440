"""Isolation of owners: fails where a search finds another owner's passage or scores depend on it.

    python benchmarks/isolation.py [--queries 1000] [--documents 60] [--json]

Two people have nearly the same documents in one place, and one of them the same again where nobody else
is. Each way of searching is asked the same questions in both; what is found must be theirs, and the scores
must be equal.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.rag.isolation import PATHS, leaks, queries, world


def main() -> int:
    """Ask, print a line for each retriever, and fail where anything leaked."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--queries", type=int, default=1000)
    options.add_argument("--documents", type=int, default=60)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    asked = queries(given.queries)
    with tempfile.TemporaryDirectory() as folder, world(Path(folder), given.documents) as built:
        found = {path: asdict(leaks(built, path, asked)) for path in PATHS}
    if given.json:
        print(json.dumps(found, indent=2))
    else:
        for path, leaked in found.items():
            print(
                f"{path:10} {leaked['asked']:6} asked, {leaked['foreign']} foreign, {leaked['scores']} scores"
            )
    return int(any(leaked["foreign"] or leaked["scores"] for leaked in found.values()))


if __name__ == "__main__":
    sys.exit(main())
