"""The Helm chart, without Helm: its values are those that the templates name, and each template is YAML."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

CHART = Path(__file__).parents[1] / "deploy" / "helm" / "footnote"
TEMPLATES = sorted((CHART / "templates").glob("*.yaml"))
HELPERS = CHART / "templates" / "_helpers.tpl"
ACTION = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}")
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())


PLACES = {"lance", "objects", "postgres"}  # extras of what FOOTNOTE_... can name beside the data directory


def filled(text: str) -> str:
    """Return a template with every block taken once, and each action replaced by a word."""
    lines = [line for line in text.splitlines() if not re.fullmatch(rf"\s*{ACTION.pattern}\s*", line)]
    return ACTION.sub("word", "\n".join(lines))


def rendered(template: str) -> dict[str, Any]:
    text = (CHART / "templates" / f"{template}.yaml").read_text()
    found: dict[str, Any] = yaml.safe_load(filled(text))
    return found


@pytest.mark.parametrize("template", [*TEMPLATES, HELPERS], ids=lambda path: path.stem)
def test_every_value_that_a_template_names_is_there(template: Path):
    for name in re.findall(r"\.Values\.([\w.]+)", template.read_text()):
        value = VALUES
        for part in name.split("."):
            assert part in value, name
            value = value[part]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_each_template_is_yaml_whose_blocks_are_closed(template: Path):
    text = template.read_text()
    actions = [action.split()[0] for action in ACTION.findall(text)]
    assert sum(action in ("if", "with", "range") for action in actions) == actions.count("end")
    found = yaml.safe_load(filled(text))
    assert found["apiVersion"] and found["kind"] and found["metadata"]["name"]


def test_every_helper_that_a_template_includes_is_there_and_none_is_left():
    included = {name for path in TEMPLATES for name in re.findall(r'include "([\w.]+)"', path.read_text())}
    assert included == set(re.findall(r'define "([\w.]+)"', HELPERS.read_text()))


def test_only_pods_that_serve_get_the_requests_of_people():
    selector = rendered("service")["spec"]["selector"]
    assert selector.items() <= rendered("deployment")["spec"]["template"]["metadata"]["labels"].items()
    assert not selector.items() <= rendered("workers")["spec"]["template"]["metadata"]["labels"].items()


def test_a_pod_is_asked_whether_it_is_ready_and_has_time_to_be_drained():
    text = (CHART / "templates" / "deployment.yaml").read_text()
    (container,) = rendered("deployment")["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert "terminationGracePeriodSeconds: {{ add .Values.drainSeconds .Values.shutdownSeconds 20 }}" in text
    assert "FOOTNOTE_DRAIN_SECONDS" in {variable["name"] for variable in container["env"]}


@pytest.mark.parametrize("template", ["deployment", "workers"])
def test_the_pod_is_walled_in_as_the_image_is_made_to_be(template: str):
    pod = rendered(template)["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    walls = container["securityContext"]
    assert pod["spec"]["securityContext"]["runAsUser"] == 10001
    assert walls["readOnlyRootFilesystem"] and not walls["allowPrivilegeEscalation"]
    assert walls["capabilities"] == {"drop": ["ALL"]}
    assert {mount["name"] for mount in container["volumeMounts"]} >= {"data", "tmp"}


def test_the_image_has_the_packages_of_every_place_that_documents_can_be_kept_in():
    (extras,) = re.findall(r"'\.\[([\w,-]+)\]'", (CHART.parents[2] / "Dockerfile").read_text())
    assert set(extras.split(",")) >= PLACES
