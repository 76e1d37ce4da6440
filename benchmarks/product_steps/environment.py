"""An environment for each product, made once: what a product needs never comes into this project's."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.product_steps.process import ProductFailed, last_line
from benchmarks.product_steps.product import Product

INSTALL = ("-m", "pip", "install", "--no-input", "--disable-pip-version-check")


def python(product: type[Product], cache: Path) -> Path:
    """Return the interpreter of a product's environment, made in `cache` where it is not there.

    Raises ProductFailed with pip's last line where it cannot be installed.
    """
    if not product.packages:
        return Path(sys.executable)
    asked = list(product.packages)
    digest = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:8]
    folder = cache / f"{product.name.replace(' ', '-')}-{digest}"
    interpreter, ready, log = folder / "bin" / "python", folder / "ready", folder / "install.log"
    if not ready.exists():
        print(f"Installing {product.name} (minutes, once)", file=sys.stderr)
        maker = shutil.which(product.python)
        if maker is None:
            raise ProductFailed(f"it does not install: it needs {product.python}, which is not here")
        subprocess.run([maker, "-m", "venv", "--clear", folder], check=True)
        with log.open("wb") as said:
            installed = subprocess.run([interpreter, *INSTALL, *asked], stdout=said, stderr=said)
        if installed.returncode:
            raise ProductFailed(f"it does not install: {last_line(log)}")
        ready.touch()
    return interpreter


def version(product: Product | type[Product]) -> str:
    """Return the product's own version, of its first package."""
    return product.packages[0].partition("==")[2] if product.packages else ""
