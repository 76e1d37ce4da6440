"""Models by their ids on a hub: what is said, and soon, where there is no hub."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from tests.rag.models.packaged.tiny_bert import write_hub_cache

ID = "someone/their-model"
SAID = f"The model '{ID}' is not on this disk, and the hub that may have it cannot be reached."
OPEN = """
import sys
from pathlib import Path
from rag.models.hub import only_on_disk, open_cross_encoder
from rag.models.embeddings import open_embedder
from rag.errors import ModelUnavailable
for open_it in {
    "embedder": [lambda: open_embedder(sys.argv[2], cache=Path("/nowhere"))],
    "cross-encoder": [lambda: open_cross_encoder(sys.argv[2])],
    "where": [lambda: print(only_on_disk(sys.argv[2]))],
}[sys.argv[1]]:
    try:
        open_it()
    except ModelUnavailable as error:
        print(error, "torch" in sys.modules)
"""


def said(what: str, spec: str, home: Path, endpoint: str, offline: str = "0") -> str:
    """Open a model in a process of its own, since the Hugging Face client reads its settings once."""
    hub = {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": offline}
    command = [sys.executable, "-c", OPEN, what, spec]
    ran = subprocess.run(
        command, env={**os.environ, **hub}, text=True, capture_output=True, timeout=60, check=True
    )
    return ran.stdout.strip()


@pytest.mark.parametrize("what", ["embedder", "cross-encoder"])
@pytest.mark.parametrize("offline", ["0", "1"], ids=["away", "offline"])
def test_an_unknown_model_without_a_hub_is_refused_before_anything_is_loaded(
    tmp_path: Path, what: str, offline: str
):
    told = said(what, ID, tmp_path, "http://127.0.0.1:9", offline)
    assert told.startswith(SAID) and told.endswith("with a network. False")


def test_a_folder_and_a_kept_model_need_no_hub(tmp_path: Path):
    write_hub_cache(tmp_path / "hf", ID)
    assert said("where", str(tmp_path), tmp_path / "none", "http://127.0.0.1:9") == "True"
    assert said("where", ID, tmp_path / "hf", "http://127.0.0.1:9") == "True"


def test_a_hub_that_says_anything_is_asked(tmp_path: Path, httpserver: HTTPServer):
    httpserver.expect_request("/").respond_with_data("", status=401)
    assert said("where", ID, tmp_path, httpserver.url_for("").rstrip("/")) == "False"
