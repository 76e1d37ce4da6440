"""Write the bill of materials (SBOM) of the installed product as CycloneDX JSON.

    python scripts/sbom.py [--output sbom.json]

Lists what `footnote` needs at run time, with all its extras but that of the tests, in the versions that are
installed here: name, version, licence, package URL, what needs what, and the hashes of the pinned files.
SOURCE_DATE_EPOCH sets the time, so that the same environment gives the same file.
"""

import argparse
import os
import re
import sys
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PRODUCT = "footnote"
LEFT_OUT = {"test"}
HASHED = Path(__file__).parent.parent / "constraints-hashed.txt"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)|--hash=sha256:([0-9a-f]{64})", re.MULTILINE)


def needed(name: str, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield what an installed package needs here, with the extras that it asks for."""
    for line in distribution(name).requires or ():
        wanted = Requirement(line)
        asked = [{"extra": extra} for extra in ("", *sorted(extras))]
        if wanted.marker is None or any(wanted.marker.evaluate(one) for one in asked):
            yield canonicalize_name(wanted.name), frozenset(wanted.extras)


def closure() -> dict[str, set[str]]:
    """Return every installed package that the product needs, with those that each needs itself."""
    offered = frozenset(distribution(PRODUCT).metadata.get_all("Provides-Extra") or ()) - LEFT_OUT
    graph: dict[str, set[str]] = {}
    seen, left = set[tuple[str, frozenset[str]]](), [(PRODUCT, offered)]
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        below = graph.setdefault(one[0], set())
        for name, extras in needed(*one):
            if _installed(name) is not None and name != one[0]:
                below.add(name)
                left.append((name, extras))
    return graph


def pinned_hashes() -> Mapping[str, list[str]]:
    """Return the SHA-256 of the files of each pinned version, by `name==version`."""
    found: dict[str, list[str]] = {}
    current = ""
    for name, version, sha256 in _PIN.findall(HASHED.read_text(encoding="utf-8") if HASHED.exists() else ""):
        if name:
            current = f"{canonicalize_name(name)}=={version}"
        else:
            found.setdefault(current, []).append(sha256)
    return found


def bill(moment: datetime) -> Bom:
    """Return the bill of materials of the installed product."""
    graph, hashes = closure(), pinned_hashes()
    components = {name: _component(distribution(name), hashes) for name in sorted(graph)}
    bom = Bom(components=[it for name, it in components.items() if name != PRODUCT])
    bom.metadata.component = components[PRODUCT]
    bom.metadata.timestamp = moment
    listed = ",".join(str(it.bom_ref.value) for it in components.values())
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, f"{listed} {moment.isoformat()}")
    for name, below in graph.items():
        bom.register_dependency(components[name], [components[one] for one in sorted(below)])
    return bom


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _component(found: Distribution, hashes: Mapping[str, list[str]]) -> Component:
    name, version = canonicalize_name(found.metadata["Name"]), found.version
    url = PackageURL("pypi", name=name, version=version)
    licence = found.metadata.get("License-Expression") or _classified(found)
    return Component(
        name=name,
        version=version,
        type=ComponentType.APPLICATION if name == PRODUCT else ComponentType.LIBRARY,
        purl=url,
        bom_ref=str(url),
        description=found.metadata.get("Summary"),
        licenses=[LicenseFactory().make_from_string(licence)] if licence else [],
        hashes=[
            HashType(alg=HashAlgorithm.SHA_256, content=it) for it in hashes.get(f"{name}=={version}", [])
        ],
    )


def _classified(found: Distribution) -> str:
    """Return the licence that the classifiers name, for packages without an expression."""
    named = [
        it.rpartition(" :: ")[2] for it in found.metadata.get_all("Classifier") or () if "License ::" in it
    ]
    return named[0] if len(named) == 1 else ""


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description="Write the bill of materials as CycloneDX JSON.")
    parser.add_argument("--output", type=Path, help="default: the screen")
    options = parser.parse_args()
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC).replace(microsecond=0)
    text = JsonV1Dot6(bill(moment)).output_as_string(indent=1) + "\n"
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
