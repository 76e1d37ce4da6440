"""No text of the interface bypasses the catalogue: each literal that reads like one is in a message."""

import ast
import re
from pathlib import Path

import pytest

UI = Path(__file__).parents[2] / "ui"
MESSAGES = {"_", "N_", "ngettext", "N_plural"}
NOT_SHOWN = {
    "compile",
    "component",
    "getLogger",
    "getattr",
    "PlainTextResponse",
    "AttributeError",
    "removeprefix",
}
"""Functions whose arguments nobody reads: expressions, scripts, logs, responses to programs."""
NO_TEXT = {"key", "icon", "type", "mime", "shortcut", "autocomplete", "at"}
"""Arguments that hold no text."""
CONSTANTS = {"_HTML", "_CSS", "_JS"}
SERVER = {"headers.py", "operations.py", "middleware.py"}
"""Modules that answer programs and browsers before there is a page."""
NAMES = {"Footnote", "Pasted text.md", "Open WebUI", "Markdown", "Say yes.", "MRR, 95 %"} | {
    "The page that you have requested does not seem to exist. Running the app's main page.",
    "Streamlit server is not responding. Are you connected to the internet?",
    "Is Streamlit still running? If you accidentally stopped Streamlit, just restart it in your terminal:",
    *("footnote --data {folder} backup FILE", "footnote --data FOLDER restore FILE"),
    *("RecursiveCharacterTextSplitter", "MarkdownHeaderTextSplitter", "Ctrl+Shift+O"),
    *("Accept-Language", "{} · Footnote"),
    *("Recall@1", "Recall@5", "Recall@10"),
}
"""Names, commands, what is asked of a model, and what Streamlit says in English."""


def reads_like_text(text: str) -> bool:
    """Return True for words with spaces between them, and for words that begin with a capital letter."""
    text = re.sub(r":material/\w+:|\bst-key-\S+", "", text)
    words = r"[A-Za-z]{2,}[,.:;]?\s+[A-Za-z(“]|\{\}(?: of)? [a-z]{3,}"
    return bool(re.search(words, text) or re.match(r"\W*[A-Z][a-z]+", text))


def called(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


class Literals(ast.NodeVisitor):
    """Collect the literals of a module that read like text and are in no message."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Call(self, node: ast.Call) -> None:
        name = called(node.func)
        logs = isinstance(node.func, ast.Attribute) and called(node.func.value) == "log"
        if name in MESSAGES | NOT_SHOWN or logs:
            return
        self.visit(node.func)
        for child in [*node.args, *(one.value for one in node.keywords if one.arg not in NO_TEXT)]:
            self.visit(child)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not {called(target) for target in node.targets} & CONSTANTS:
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for child in [*node.decorator_list, *node.args.defaults, *node.body]:
            self.visit(child)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Leave out what is only compared."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)

    def visit_Dict(self, node: ast.Dict) -> None:
        for child in node.values:
            self.visit(child)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.check("".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.check(node.value)

    def check(self, text: str) -> None:
        if reads_like_text(text) and text not in NAMES:
            self.found.append(text)


def bypassing(source: str) -> list[str]:
    """Return the literals of a module's source that bypass the catalogue."""
    literals = Literals()
    literals.visit(ast.parse(source))
    return literals.found


def modules() -> list[Path]:
    every = sorted(UI.rglob("*.py"))
    return [path for path in every if path.name not in SERVER and "start" not in path.parts]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(UI)))
def test_no_literal_of_a_page_bypasses_the_catalogue(path: Path):
    assert bypassing(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('st.button("Save")', ["Save"]),
        ('st.button(_("Save"), key="Save it")', []),
        ('st.caption(f"{n} files are there")', ["{} files are there"]),
        ('TITLES = {"A key": N_("Title")}', []),
        ('def f(name="Save"): ...', ["Save"]),
        ('@st.dialog("Edit question")\ndef f(): ...', ["Edit question"]),
        ('log.warning("It failed")', []),
        ('st.badge(name, color="gray")', []),
    ],
)
def test_a_literal_that_bypasses_the_catalogue_is_found(source: str, found: list[str]):
    assert bypassing(source) == found


SCRIPT = re.compile(r"""(?:textContent = |aria-label', |tell\(|text = )[`'"]([^`'"$]*[A-Za-z][^`'"]*)""")


def test_no_script_of_a_page_bypasses_the_catalogue():
    for path in [*UI.rglob("*.py"), *UI.rglob("*.js")]:
        assert SCRIPT.findall(path.read_text(encoding="utf-8")) == [], path.name
