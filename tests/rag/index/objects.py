"""Tables in an object store for tests, with copies in a folder."""

from pathlib import Path

from rag.index.lance_objects import TableObjects
from tests.s3 import new_address


def table_objects(root: Path, address: str = "", most_bytes: int = 1 << 30) -> TableObjects:
    """Return tables at an address, by default one where nothing is yet."""
    return TableObjects.at(address or new_address(), root, most_bytes)
