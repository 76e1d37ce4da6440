"""What the commands' options have in common: how they are read, and how a wrong one is answered."""

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]  # argparse has no public name for it
else:
    Commands = object

Options = argparse.Namespace
MAX_K = 50  # as in the settings


class Parser(argparse.ArgumentParser):
    """Argparse's, with one sentence for a wrong call."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end with 2."""
        self.exit(2, f"footnote: {message}. See `{self.prog} --help`.\n")


def count(text: str) -> int:
    """Read a number of passages, 1 to MAX_K."""
    number = int(text)
    if not 1 <= number <= MAX_K:
        raise argparse.ArgumentTypeError(f"must be 1 to {MAX_K}, not {number}")
    return number


def positive(text: str) -> int:
    """Read a number, at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number
