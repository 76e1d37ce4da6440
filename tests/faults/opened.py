"""The embedding model, open: imported by the process that others are forked from, and by those only.

A fork may use it since a run of it keeps to its own thread (`intra_op_num_threads` in
rag/models/embeddings.py).
"""

import gc
from functools import cache

from streamlit.components.v2 import manifest_scanner

from rag.models.embeddings import open_embedder
from rag.settings import default_model_cache
from tests.faults import victim, worker

__all__ = ["EMBEDDER", "victim", "worker"]  # they are to be imported before anything is forked, too

EMBEDDER = open_embedder("multilingual-e5-small", cache=default_model_cache())

# A server looks through all installed packages when it starts, which takes as long as the rest of its start.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
manifest_scanner.scan_component_manifests()

# What was imported lives to the end of each fork, and none needs to look for garbage in it.
gc.freeze()
