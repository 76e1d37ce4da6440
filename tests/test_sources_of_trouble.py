"""What no source of ours may hold: calls that trust data, statements put together from strings, secrets.

Sources are read as Python reads them, so that a word in a docstring is no finding and a call that is
spread over lines is one. Each rule is shown to find what it is for before it is believed.
"""

import ast
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = [
    Path("app.py"),
    *sorted(p.relative_to(ROOT) for room in ("rag", "storage", "ui") for p in (ROOT / room).rglob("*.py")),
]
RUNS_DATA = {"eval", "exec", "compile", "__import__"}
READS_OBJECTS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
CALLS = {
    "torch.load",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "os.system",
    "os.popen",
    "tempfile.mktemp",
    "ssl._create_unverified_context",
    "st.html",
    "st.iframe",
    "components.html",
    "components.iframe",
    "components.v1.html",
    "components.v1.iframe",
}
# Keywords, with the only value that each may have; one that may have none must not be written at all.
KEYWORDS = {
    "unsafe_allow_html": None,
    "unsafe_allow_javascript": None,
    "shell": False,
    "verify": True,
    "trust_remote_code": False,
    "allow_pickle": False,
    "resolve_entities": False,
    "check_hostname": True,
}
STATEMENTS = {"text", "execute", "executemany", "executescript", "exec_driver_sql", "scalar", "scalars"}


def troubles(source: str) -> list[str]:
    """What a source holds that it must not, as `line: what`."""
    return [
        f"{node.lineno}: {what}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)
        for what in (_called(node) if isinstance(node, ast.Call) else _imported(node))
    ]


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        whole = f"{module}.{alias.name}".strip(".")
        if whole.split(".")[0] in READS_OBJECTS or whole in CALLS:
            yield f"import of {whole}"


def _called(call: ast.Call) -> Iterator[str]:
    name = _dotted(call.func)
    if name in RUNS_DATA or _one_of(name, CALLS):
        yield f"{name}()"
    for keyword in call.keywords:
        if keyword.arg in KEYWORDS and not _is(keyword.value, KEYWORDS[keyword.arg]):
            yield f"{keyword.arg}={ast.unparse(keyword.value)}"
    if name.split(".")[-1] in STATEMENTS and call.args and _put_together(call.args[0]):
        yield f"a statement put together: {ast.unparse(call)}"


def _one_of(name: str, calls: set[str]) -> bool:
    return any(name == call or name.endswith(f".{call}") for call in calls)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _is(node: ast.expr, allowed: object) -> bool:
    return allowed is not None and isinstance(node, ast.Constant) and node.value is allowed


def _put_together(node: ast.expr) -> bool:
    """Whether a string is made of others here: f"", "" + x, "" % x, "".format(x), "".join(x)."""
    if isinstance(node, ast.Call):
        by_method = isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "join")
        return by_method and isinstance(node.func.value, ast.Constant)
    if isinstance(node, ast.BinOp):
        return any(_is_text(side) for side in (node.left, node.right))
    return isinstance(node, ast.JoinedStr) and any(_may_be_words(part) for part in node.values)


def _may_be_words(part: ast.expr) -> bool:
    """Whether a part of an f-string is not sure to be a number, as `{n:d}` is: PRAGMA takes no parameters."""
    spec = part.format_spec if isinstance(part, ast.FormattedValue) else None
    return isinstance(part, ast.FormattedValue) and (spec is None or ast.unparse(spec) != "f'd'")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def test_no_source_trusts_data():
    found = {path.as_posix(): troubles((ROOT / path).read_text(encoding="utf-8")) for path in SOURCES}
    assert len(found) > 100
    assert {path: what for path, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import joblib.numpy_pickle",
        "from torch import load",
        "from os import system",
        "eval(question)",
        "exec(answer, {})",
        "compile(a, b, c)",
        "__import__(name)",
        "torch.load(path)",
        "yaml.load(text, Loader=yaml.SafeLoader)",
        "os.system('ls')",
        "st.html(answer)",
        "st.components.v1.html(answer)",
        "st.markdown(answer, unsafe_allow_html=True)",
        "st.markdown(\n    answer,\n    unsafe_allow_html=flag,\n)",
        "subprocess.run(command, shell=True)",
        "subprocess.run(command, shell=flag)",
        "httpx.get(url, verify=False)",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
        "np.load(path, allow_pickle=True)",
        "etree.XMLParser(resolve_entities=True)",
        "connection.execute(f'SELECT * FROM t WHERE id = {id}')",
        "connection.execute(text('SELECT ' + name))",
        "cursor.executemany('DELETE FROM %s' % table, rows)",
        "session.scalar(text('SELECT {}'.format(name)))",
        "connection.exec_driver_sql(', '.join(parts))",
    ],
)
def test_what_trusts_data_is_found(source: str):
    assert troubles(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""Never unsafe_allow_html=True, never pickle."""',
        "re.compile('a')",
        "np.load(path, allow_pickle=False)",
        "session.execute(select(Chunk).where(Chunk.owner == owner))",
        "connection.execute(text('SELECT 1'))",
        "retriever.invoke(f'{question}')",
        "db.execute(f'PRAGMA user_version = {number:d}')",
    ],
)
def test_what_does_not_is_left_alone(source: str):
    assert troubles(source) == []


# What a secret looks like: the forms that services give their keys, and random words after "key" or the like.
KNOWN = re.compile(
    r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----(?:\s|\\n)*[A-Za-z0-9+/=]{20,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\bsk-(?:proj-|ant-)?[A-Za-z0-9_-]{20,}"
    r"|\b(?:ghp|gho|ghs|ghu|github_pat)_[A-Za-z0-9_]{20,}"
    r"|\bhf_[A-Za-z0-9]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bAIza[0-9A-Za-z_-]{35}\b"
    r"|\bya29\.[0-9A-Za-z_-]{20,}"
    r"|\bATATT3[A-Za-z0-9_=-]{20,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\."
    r"|://[^/\s:@\"'{}]+:[^/\s:@\"'{}]{6,}@"
)
NAMED = re.compile(
    r"(?i)(?:api_?key|secret|passw(?:or)?d|token|credential)s?[\"']?\s*[:=]\s*[\"'](?!https?://)([^\"'\s]{16,})[\"']"
)
MADE_UP = re.compile(r"(?i)secret|password|mark|example")  # the tests' own say so
RANDOM = 3.5  # bits a character: words of people have fewer, keys more


def secrets(text: str) -> list[str]:
    """The places of a text that look like a secret."""
    named = (found[1] for found in NAMED.finditer(text))
    random = [word for word in named if entropy(word) >= RANDOM and re.search(r"\d", word)]
    found = [found[0] for found in KNOWN.finditer(text)] + random
    return [word for word in found if not MADE_UP.search(word)]


def entropy(word: str) -> float:
    """Bits a character, by how often each occurs: 0 for "aaaa", 2 for "abcd"."""
    shares = [word.count(character) / len(word) for character in set(word)]
    return -sum(share * math.log2(share) for share in shares)


def tracked() -> list[Path]:
    """The files of the repository; of an unpacked archive, the files of the house."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]
    rooms = ("rag", "storage", "ui", "tests", "docs", "benchmarks", ".streamlit")
    found = (path for room in rooms for path in (ROOT / room).rglob("*") if path.is_file())
    return [path for path in found if "__pycache__" not in path.parts]


def test_no_file_of_the_repository_holds_a_secret():
    files = tracked()
    assert len(files) > 300
    found = {
        path.relative_to(ROOT).as_posix(): secrets(path.read_bytes().decode("utf-8", "ignore"))
        for path in files
    }
    assert {name: what for name, what in found.items() if what} == {}


def test_no_file_that_keeps_secrets_is_in_the_repository():
    keeps = re.compile(
        r"(^|/)(secrets\.toml|settings\.json|\.env(\..*)?|id_[a-z0-9]+|.*\.(pem|p12|pfx|key|kdbx))$"
    )
    names = [path.relative_to(ROOT).as_posix() for path in tracked()]
    assert [name for name in names if keeps.search(name)] == []


@pytest.mark.parametrize(
    "parts",
    [
        ("-----BEGIN RSA ", "PRIVATE KEY-----\nMIIEowIBAAKCAQEAx7Qm0b"),
        ("AKIA", "IOSFODNN7QWZXPLQ"),
        ("sk-", "proj-a8Fk29sLmQ0zXc71TyVbNw"),
        ("ghp", "_a8Fk29sLmQ0zXc71TyVbNw3e"),
        ("hf", "_a8Fk29sLmQ0zXc71TyVbNw3e"),
        ("xoxb", "-1234567890-abcdef"),
        ("https://ann:", "correcthorse@host.org/"),
        ('api_key = "', 'a8Fk29sLmQ0zXc71TyVbNw3e"'),
        ("{'client_secret': '", "Zx81-kQ0pWm27Lr_9aBc'}"),
    ],
    ids=lambda parts: parts[0],
)
def test_a_secret_is_found(parts: tuple[str, str]):
    assert secrets("".join(parts))


@pytest.mark.parametrize(
    "text",
    [
        'llm_api_key: SecretStr = Field("")',
        'token = "the-word-after-this-one"',
        "sha256 = 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "https://user@example.org/ and http://127.0.0.1:8501",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str):
    assert secrets(text) == []
