"""The ledger, the original files and their backup; imports nothing else of Footnote."""
