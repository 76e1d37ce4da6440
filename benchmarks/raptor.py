"""Time of RAPTOR trees: clustering a layer, building over a collection, adding one document to it.

    python benchmarks/raptor.py [--nodes 5000] [--documents 100] [--json]

Vectors are drawn around subjects, so that no embedding model is measured: a node's embedding adds about
1/40 s to both sides of the ratio, in proportion to the nodes, and would make adding look cheaper.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.factory import make_bench_library
from rag.ingest.library import Library
from rag.models.embeddings import Embedder, Floats, Role
from rag.raptor.clustering import ClusteringOptions, clusters
from rag.text.chunking import split
from rag.text.document import LoadedDocument
from storage.database import Database
from storage.records import ChunkSpan

DIMENSION = 384
WORDS = [
    "pump",
    "valve",
    "engine",
    "harbour",
    "pilot",
    "cargo",
    "grain",
    "storm",
    "sail",
    "deck",
    "crew",
    "mate",
    "anchor",
    "rope",
    "lamp",
    "chart",
]


class Drawn(Embedder):
    """Embeddings by the first word of a text: a subject's direction, with noise seeded by the text."""

    name, dimension, fingerprint = "drawn", DIMENSION, "drawn"

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        return np.array([_drawn(text.split()[0], 1.0) + _drawn(text, 1.0) for text in texts], np.float32)


def _drawn(text: str, scale: float) -> Floats:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return np.random.default_rng(seed).normal(scale=scale, size=DIMENSION).astype(np.float32)


def made_document(number: int, leaves: int) -> str:
    """Return a text of about this many leaves, ten on each subject."""
    random = np.random.default_rng(number)
    sentence = "{subject} {words} number {number}."
    lines = []
    for at in range(leaves):
        subject = f"Subject{number}x{at // 10}"
        words = " ".join(random.choice(WORDS, 50))
        lines.append(sentence.format(subject=subject, words=words, number=at))
    return "\n\n".join(lines)


def add(library: Library, number: int, leaves: int) -> str:
    """Add a made document as if it had been parsed; return its id."""
    text = made_document(number, leaves)
    record, _ = library.documents.add(f"{number}.txt", *library.files.save(text.encode()))
    spans = [ChunkSpan(piece.start, piece.end) for piece in split(LoadedDocument(text))]
    library.documents.save_chunks(record.id, text, [], spans)
    library.documents.set_state(record.id, "ready")
    return record.id


def tended(library: Library) -> float:
    """Return the seconds of building what is due."""
    begun = time.perf_counter()
    for _ in library.forest.build_due():
        pass
    return time.perf_counter() - begun


def clustering_seconds(nodes: int) -> float:
    """Return the seconds that clustering one layer of so many nodes takes."""
    texts = [f"Subject{at // 12} {at}" for at in range(nodes)]
    vectors = np.array(Drawn().embed_documents(texts), np.float32)
    begun = time.perf_counter()
    clusters(vectors, [90] * nodes, ClusteringOptions())
    return time.perf_counter() - begun


def main() -> None:
    """Print the figures, a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    clustered = clustering_seconds(options.nodes)
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(Path(folder) / "data")
        library = make_bench_library(database, "benchmark", Drawn)
        for number in range(options.documents):
            add(library, number, options.nodes // options.documents)
        whole = tended(library)
        leaves = sum("-l" in node for node in library.forest.trees.node_ids())
        add(library, options.documents, 50)
        one = tended(library)
        library.close()
        database.close()
    found = {
        "nodes": options.nodes,
        "clustering_s": round(clustered, 1),
        "leaves": leaves,
        "build_s": round(whole, 1),
        "add_one_s": round(one, 1),
        "add_share": round(one / whole, 3),
    }
    print(
        json.dumps(found) if options.json else "\n".join(f"{key:<14}{value}" for key, value in found.items())
    )


if __name__ == "__main__":
    main()
