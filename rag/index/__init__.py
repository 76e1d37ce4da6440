"""BM25 and vector indexes: derived from the ledger, verified, replaceable."""
