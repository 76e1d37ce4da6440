"""The command line as `python -m rag.cli`."""

import sys

from rag.cli import main

sys.exit(main())
