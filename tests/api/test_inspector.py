"""The MCP server by the official inspector, from npm, as somebody else's client."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import ApiServer
from tests.api.test_mcp import TOOLS

INSPECTOR = "@modelcontextprotocol/inspector@0.17.2"  # the newest that Node 20 runs
pytestmark = pytest.mark.slow(reason="installs 240 packages of the inspector from npm's registry")


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspector")
    if shutil.which("npm") is None:
        pytest.skip("needs npm")
    install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), INSPECTOR]
    ran = subprocess.run(install, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        pytest.skip(f"needs npm's registry: {ran.stderr.strip()[-200:]}")
    return folder / "node_modules" / ".bin" / "mcp-inspector"


@pytest.mark.timeout(600)
def test_the_inspector_lists_the_tools_and_calls_one(api: ApiServer, inspector: Path):
    def asked(method: str, *arguments: str) -> dict[str, Any]:
        command = [str(inspector), "--cli", f"{api.url}/mcp", "--transport", "http", "--method", method]
        header = f"Authorization: Bearer {api.keys['ann']}"
        ran = subprocess.run(
            [*command, "--header", header, *arguments], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        told: dict[str, Any] = json.loads(ran.stdout)
        return told

    assert {tool["name"] for tool in asked("tools/list")["tools"]} == TOOLS
    search = asked("tools/call", "--tool-name", "search_documents", "--tool-arg", "query=moat of the castle")
    assert search["structuredContent"]["passages"][0]["document"] == "castle.md"
