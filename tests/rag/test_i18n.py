import pickle
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import DocumentRefused
from rag.i18n import (
    ENGLISH,
    LANGUAGES,
    N_,
    Catalogue,
    Translatable,
    _,
    catalogue,
    enumerated,
    in_language,
    language,
    ngettext,
    read_language_from,
    translated,
)

sys.path.append(str(Path(__file__).parents[2] / "scripts"))
import catalogues

OTHERS = [code for code in LANGUAGES if code != ENGLISH]


def placeholders(text: str) -> set[str]:
    return {name for _l, name, *_rest in Formatter().parse(text) if name is not None}


def texts(message: object) -> list[str]:
    """Return the English of a message: one text, or the singular and the plural."""
    return [str(one) for one in message] if isinstance(message, tuple | list) else [str(message)]


SAMPLE = r"""
msgid ""
msgstr "Content-Type: text/plain; charset=utf-8\nPlural-Forms: nplurals=1; plural=0;\n"

msgid "Save"
msgstr "저장"

msgid "{name} is empty."
msgstr "“{name}” 파일이 비어 있습니다."

msgid "{name} cannot be read: {reason}"
msgstr "“{name}” 파일을 읽을 수 없습니다. {reason}"

msgid "{count} file"
msgid_plural "{count} files"
msgstr[0] "파일 {count}개"

msgid "In {place}: {count} page"
msgid_plural "In {place}: {count} pages"
msgstr[0] "{place}: {count}쪽"

msgid "{name} {reason}"
msgstr "“{name}”: {reason}"

msgid "is damaged."
msgstr "손상되었습니다."

msgid "{address} is {name}."
msgstr "{address}: {name}"

msgid "Not translated yet."
msgstr ""
"""


@pytest.fixture
def korean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalogue]:
    """A small Korean catalogue in place of the product's, and Korean as the language."""
    path = tmp_path / "ko" / "LC_MESSAGES" / "footnote.po"
    path.parent.mkdir(parents=True)
    path.write_text(SAMPLE, encoding="utf-8")
    monkeypatch.setattr("rag.i18n.FOLDER", tmp_path)
    catalogue.cache_clear()
    with in_language("ko"):
        yield catalogue("ko")
    catalogue.cache_clear()


def test_a_message_is_said_in_the_present_language(korean: Catalogue):
    assert _("Save") == "저장"
    assert _("{name} is empty.", name="a.pdf") == "“a.pdf” 파일이 비어 있습니다."
    assert [ngettext("{count} file", "{count} files", n) for n in (1, 1200)] == ["파일 1개", "파일 1,200개"]
    with in_language(ENGLISH):
        assert [ngettext("{count} file", "{count} files", n) for n in (1, 1200)] == ["1 file", "1,200 files"]


def test_what_has_no_translation_is_said_in_english(korean: Catalogue):
    assert _("Not translated yet.") == "Not translated yet."
    assert ngettext("{count} hit", "{count} hits", 2) == "2 hits"


def test_a_message_from_elsewhere_is_english_until_it_is_shown(korean: Catalogue):
    reason = N_("{name} is empty.", name="b.txt")
    error = DocumentRefused(N_("{name} cannot be read: {reason}", name="a.zip", reason=reason))
    assert f"{error}" == "a.zip cannot be read: b.txt is empty."
    shown = "“a.zip” 파일을 읽을 수 없습니다. “b.txt” 파일이 비어 있습니다."
    assert translated(str(error)) == shown
    assert translated(str(pickle.loads(pickle.dumps(error)))) == shown  # noqa: S301 (our own)


def test_stored_english_text_is_recognised(korean: Catalogue):
    assert translated("a.zip cannot be read: b.txt is empty.") == (
        "“a.zip” 파일을 읽을 수 없습니다. “b.txt” 파일이 비어 있습니다."
    )
    assert translated("1,200 files") == "파일 1,200개"
    assert translated("A sentence of a document.") == "A sentence of a document."


def test_what_a_stored_text_says_of_a_name_is_recognised(korean: Catalogue):
    assert translated("my own file.pdf is damaged.") == "“my own file.pdf”: 손상되었습니다."
    assert translated("a.pdf is empty. is damaged. And more.") == (
        "“a.pdf” 파일이 비어 있습니다. 손상되었습니다. And more."
    )


def test_a_form_that_is_little_but_values_is_not_taken_for_any_text(korean: Catalogue):
    assert translated("The mill is old.") == "The mill is old."


def test_a_name_that_reads_like_a_message_is_not_translated(korean: Catalogue):
    assert translated("Save is empty.") == "“Save” 파일이 비어 있습니다."


def test_other_threads_speak_english_unless_a_source_says_otherwise(
    korean: Catalogue, monkeypatch: pytest.MonkeyPatch
):
    said: list[str] = []

    def say() -> None:
        said.append(language())

    for source in (lambda: ENGLISH, lambda: "ja"):
        monkeypatch.setattr("rag.i18n._source", source)
        thread = Thread(target=say)
        thread.start()
        thread.join()
    assert said == [ENGLISH, "ja"]
    read_language_from(lambda: ENGLISH)
    assert language() == "ko"


VALUES = st.text("가나다 éA1.", min_size=1, max_size=12).map(str.strip).filter(bool)
extracted = cache(catalogues.extracted)


@cache
def messages() -> list[tuple[str, str]]:
    return [(*texts(message.id), "")[:2] for message in extracted() if message.id]


@cache
def marked() -> Catalogue:
    """A language in which each message stands in angle brackets."""
    return Catalogue([(one, more, [f"<{more or one}>"]) for one, more in messages()], "0")


@cache
def with_values() -> list[tuple[str, str]]:
    forms = ((form.template, form.plural) for form in marked().forms)
    return [(template, plural) for template, plural in forms if "{" in template + plural]


@given(data=st.data())
def test_a_stored_text_is_translated_like_the_message_it_was_made_of(data: st.DataObject):
    template, plural = data.draw(st.sampled_from(with_values()))
    names = sorted(placeholders(template + plural))
    values: dict[str, object] = {name: data.draw(VALUES, label=name) for name in names}
    if plural or "count" in names:
        values["count"] = data.draw(st.integers(0, 99_999), label="count")
    said = marked().said(template, plural, values)
    assert marked().recognised(f"{Translatable(template, plural, values)}") == said


def test_the_catalogues_are_in_step_with_the_sources():
    for path, text in catalogues.files(extracted()).items():
        assert path.exists() and path.read_text(encoding="utf-8") == text, (
            f"{path.name} is out of date: run python scripts/catalogues.py"
        )


def test_messages_are_whole_and_name_their_values():
    for one, more in messages():
        for text in filter(None, (one, more)):
            assert text == text.strip(), f"a fragment: {text!r}"
            assert all(re.fullmatch(r"[a-z_]+", name) for name in placeholders(text)), text
        assert not more or "count" in placeholders(more), more


@pytest.mark.parametrize("code", OTHERS)
def test_translations_keep_the_placeholders(code: str):
    for message in catalogues.updated(code, extracted()):
        for text in filter(None, texts(message.string) if message.id else []):
            assert placeholders(text) == placeholders(texts(message.id)[-1]), text


@pytest.mark.parametrize("code", OTHERS)
def test_every_message_is_translated(code: str):
    for message in catalogues.updated(code, extracted()):
        assert not message.id or all(texts(message.string)), f"not translated: {message.id!r}"


def test_names_of_a_list_are_parted_as_each_language_does():
    said = {}
    for code in ("en", "ko", "ja"):
        with in_language(code):
            said[code] = enumerated(["a.pdf", "b.pdf", "c.pdf"])
    assert said == {"en": "a.pdf, b.pdf, and c.pdf", "ko": "a.pdf, b.pdf, c.pdf", "ja": "a.pdf、b.pdf、c.pdf"}


SPACED_NUMBER = re.compile(r"(?:\{count\}|\{number\}|\{total\}|(?<![\w@/.-])\d[\d,]*) (?=[ぁ-んァ-ヶ一-龥])")


def test_japanese_has_no_space_after_a_number():
    told = [text for message in catalogues.updated("ja", extracted()) for text in texts(message.string)]
    assert [text for text in told if SPACED_NUMBER.search(text)] == []
