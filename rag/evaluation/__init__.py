"""How well retrievers find what they should: metrics, question sets, and runs over them."""
