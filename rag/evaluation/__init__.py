"""Evaluation: question sets, metrics, runs of retrievers and rerankers over them, and the lab."""
