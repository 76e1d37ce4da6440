"""RAPTOR: a tree of summaries over passages, searched as a whole and answered from its leaves."""
