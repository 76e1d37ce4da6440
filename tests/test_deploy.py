"""The examples of `deploy/many`: what the programs they are for say of them, and that they agree."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from rag.settings import Settings
from rag.sharing import sharing_of

ROOT = Path(__file__).parents[1]
MANY = ROOT / "deploy" / "many"
COMPOSE = yaml.safe_load((MANY / "compose.yaml").read_text())
HAPROXY = (MANY / "haproxy.cfg").read_text()
PROGRAMS = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"
OURS = {name: one for name, one in COMPOSE["services"].items() if one["image"] == "footnote"}


def check(program: str, *arguments: str) -> None:
    command = shutil.which(program, path=PROGRAMS)
    if command is None:
        pytest.skip(f"needs {program} (Debian: apt install {program})")
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_haproxy_takes_its_configuration():
    check("haproxy", "-c", "-f", str(MANY / "haproxy.cfg"))


def test_caddy_takes_its_configuration():
    check("caddy", "validate", "--adapter", "caddyfile", "--config", str(MANY / "Caddyfile"))


def test_the_proxies_name_the_servers_of_the_compose_file():
    serving = {name for name, one in OURS.items() if one["command"][0] == "serve"}
    assert set(re.findall(r"^\s+server (\S+)", HAPROXY, re.MULTILINE)) == serving
    assert set(re.findall(r"(serve-\d):8501", (MANY / "Caddyfile").read_text())) == serving
    assert set(COMPOSE["services"]["haproxy"]["depends_on"]) == serving


def test_the_settings_of_the_compose_file_let_its_processes_share_one_ledger(tmp_path: Path):
    for name, one in OURS.items():
        given = {key.lower().removeprefix("footnote_"): value for key, value in one["environment"].items()}
        objects = given["objects"].partition(":-")[2].rstrip("}")
        assert f"shared:{objects.removeprefix('file://')}" in one["volumes"], name
        settings = Settings(
            data=tmp_path,
            database_url=given["database_url"],
            objects=f"file://{tmp_path}/shared",
            vector_store=given["vector_store"],
            drain_seconds=given["drain_seconds"],
        )
        assert sharing_of(settings).together, name
        patience = settings.drain_seconds + settings.shutdown_seconds
        assert float(one["stop_grace_period"].rstrip("s")) >= patience + 10, name


def test_the_image_asks_for_its_health_by_a_name_that_every_example_lets_in():
    (asked,) = re.findall(r"http://([\w.]+):8501/healthz", (ROOT / "Dockerfile").read_text())
    page = (ROOT / "docs" / "operator" / "container.md").read_text()
    examples = re.findall(r'STREAMLIT_SERVER_ALLOWED_HOSTS="([^"]+)"', page)
    examples += [
        one["environment"]["STREAMLIT_SERVER_ALLOWED_HOSTS"]
        for one in OURS.values()
        if one["command"][0] == "serve"
    ]
    assert len(examples) == 3 and all(asked in names.split() for names in examples)


def test_each_process_of_the_compose_file_has_a_data_directory_of_its_own_and_is_walled_in():
    places = [volume for one in OURS.values() for volume in one["volumes"] if volume.endswith(":/data")]
    assert len(places) == len(set(places)) == len(OURS)
    assert {place.partition(":")[0] for place in places} <= set(COMPOSE["volumes"])
    for one in OURS.values():
        assert one["read_only"] and one["cap_drop"] == ["ALL"]
    assert "/data /shared" in (ROOT / "Dockerfile").read_text()  # which its user may write
