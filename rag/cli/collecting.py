"""The passages of a question set made searchable for an evaluation, and a line on what takes long."""

import sys
from contextlib import AbstractContextManager

from rag.cli.progress import ProgressBar
from rag.evaluation.collection import Collection, default_cache, open_collection
from rag.evaluation.datasets import QuestionSet
from rag.factory import make_embedder
from rag.settings import Settings
from rag.text.morphemes import find

SLOW = {
    "vectors": "embedding {total} passages; they are kept for the next run.",
    "mixture": "weighing words against meaning over {total} passages; the result is kept, too.",
}


def collection_of(
    settings: Settings, questions: QuestionSet, told: ProgressBar
) -> AbstractContextManager[Collection]:
    """Open the set's collection with the settings' embedding model and the analysers there are."""
    return open_collection(
        questions.corpus,
        lambda: make_embedder(settings),
        cache=default_cache(),
        analysers=find(settings.morphemes),
        waiting=lambda: say("another run uses the indexes of this question set; waiting until it is done."),
        told=told,
    )


def say(sentence: str) -> None:
    """Say a sentence on stderr."""
    print(f"footnote: {sentence}", file=sys.stderr, flush=True)
