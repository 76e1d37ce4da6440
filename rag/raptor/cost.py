"""What building trees will take, said before it begins: summaries, tokens and seconds."""

from dataclasses import dataclass

from rag.raptor.extracts import SIZE as SUMMARY
from rag.raptor.leaves import SIZE as LEAF

# Over 60 stories and meetings, 7,522 leaves: 1,430 summaries, each of about six nodes of the layer below.
SUMMARIES_A_LEAF = 0.2
SECONDS_A_NODE = 0.06  # on two cores: nearly all of it the embedding, the least of it the clustering


@dataclass(frozen=True)
class Cost:
    """An estimate: `summaries` to make, `tokens` that a model reads and writes for them, `seconds` here.

    The seconds are without the model's own, which its server decides.
    """

    leaves: int
    summaries: int
    tokens: int
    seconds: float

    def __str__(self) -> str:
        minutes = max(1, round(self.seconds / 60))
        return (
            f"{self.leaves:,} passages, about {self.summaries:,} summaries; about {minutes:,} "
            f"minute{'s' if minutes > 1 else ''} of this computer"
        )


def estimate(characters: int, *, by_model: bool) -> Cost:
    """Return what a tree over this much text will take; without a model its tokens are none.

    >>> estimate(420_000, by_model=True)
    Cost(leaves=1000, summaries=200, tokens=184000, seconds=72.0)
    """
    leaves = round(characters / (3.5 * LEAF))
    summaries = round(leaves * SUMMARIES_A_LEAF)
    tokens = leaves * LEAF + 2 * summaries * SUMMARY if by_model else 0
    return Cost(leaves, summaries, tokens, (leaves + summaries) * SECONDS_A_NODE)
