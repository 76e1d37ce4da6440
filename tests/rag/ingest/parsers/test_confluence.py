"""Confluence's storage format ends as Markdown that says in words what the wiki shows."""

from html import escape
from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.parsers import load
from rag.ingest.parsers.confluence import pack, read_confluence

PEOPLE = {"557058:ab": "김민수", "8a7f": "Ada Byron"}


def text(tmp_path: Path, storage: str) -> str:
    path = tmp_path / "page"
    path.write_bytes(pack("Plan", storage, PEOPLE))
    return read_confluence(path).text.removeprefix("# Plan\n\n")


def macro(name: str, body: str = "", /, **parameters: str) -> str:
    given = "".join(
        f'<ac:parameter ac:name="{key}">{value}</ac:parameter>' for key, value in parameters.items()
    )
    return f'<ac:structured-macro ac:name="{name}" ac:schema-version="1">{given}{body}</ac:structured-macro>'


def rich(body: str) -> str:
    return f"<ac:rich-text-body>{body}</ac:rich-text-body>"


def plain(body: str) -> str:
    return f"<ac:plain-text-body><![CDATA[{body}]]></ac:plain-text-body>"


@pytest.mark.parametrize(
    ("title", "sentence"),
    [
        ("Harbour <A&B>", "The harbour opened in 1887."),
        ("항구 안내", "벨담 항구는 1887년에 문을 열고 1931년에 닫았다."),
        ("港の案内", "ベルダム港は1887年に開き、1931年に閉じた。"),
    ],
)
def test_a_page_is_read_by_the_loader_with_headings_below_its_title(
    tmp_path: Path, title: str, sentence: str
):
    body = f"<p>{sentence}</p><h1>{escape(title)} 1</h1><p>x</p><h2>Two</h2><p>y</p><h6>Six</h6><p>z</p>"
    path = tmp_path / "original"
    path.write_bytes(pack(title, body, {}))
    document = load(path, f"{title}.html")
    assert document.title == title
    assert [(level, heading) for _, level, heading in document.headings] == [
        (1, title),
        (2, f"{title} 1"),
        (3, "Two"),
        (6, "Six"),
    ]
    assert sentence in document.text


def test_a_table_keeps_its_rows_whatever_its_cells_hold(tmp_path: Path):
    table = (
        '<table class="wrapped"><colgroup><col /></colgroup><tbody>'
        "<tr><th><p>Service</p></th><th><p>Owner</p></th><th>Ready</th></tr>"
        '<tr><td rowspan="2"><p>Billing | EU</p></td>'
        '<td><ac:link><ri:user ri:account-id="557058:ab" /></ac:link></td>'
        '<td><ac:emoticon ac:name="tick" /></td></tr>'
        '<tr><td><ac:link><ri:user ri:userkey="8a7f" /></ac:link></td>'
        f"<td>{macro('status', colour='Red', title='LATE')}</td></tr>"
        "<tr><td><p>One.</p><ul><li><p>two</p></li><li>three</li></ul></td><td><h3>four</h3></td><td></td></tr>"
        f"<tr><td>{macro('code', plain('a' + chr(10) + 'b'))}</td><td>"
        "<table><tbody><tr><td>in</td><td>side</td></tr></tbody></table></td><td></td></tr></tbody></table>"
    )
    assert text(tmp_path, table).splitlines() == [
        "| Service | Owner | Ready |",
        "| --- | --- | --- |",
        "| Billing \\| EU | @김민수 | ✔ |",
        "| Billing \\| EU | @Ada Byron | LATE |",
        "| One. - two - three | four |  |",
        "| a b | in, side |  |",
    ]


def test_code_keeps_its_language_its_lines_and_every_sign(tmp_path: Path):
    code = 'if a < 3 && b > "]]]]><![CDATA[>":\n    # no heading\n    return List[int]'
    said = text(tmp_path, macro("code", plain(code), language="python", title="gate.py"))
    assert said == (
        'gate.py\n\n```python\nif a < 3 && b > "]]>":\n    # no heading\n    return List[int]\n```'
    )


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        (
            '<p>See <a href="https://e.org/a?x=1&amp;y=2">the site</a>.</p>',
            "See the site (https://e.org/a?x=1&y=2).",
        ),
        ('<p><a href="https://e.org">https://e.org</a></p>', "https://e.org"),
        ('<p><a href="javascript:alert(1)">x</a> <a href="#top">up</a></p>', "x up"),
        ('<p><ac:link><ri:page ri:content-title="Runbook" /></ac:link></p>', "Runbook"),
        (
            '<p><ac:link><ri:page ri:content-title="Runbook" ri:space-key="OPS" />'
            "<ac:plain-text-link-body><![CDATA[what & when]]></ac:plain-text-link-body></ac:link></p>",
            "what & when (Runbook)",
        ),
        (
            '<p><ac:link ac:anchor="x"><ac:link-body><em>here</em></ac:link-body></ac:link></p>',
            "here",
        ),
        ('<p><ac:link><ri:attachment ri:filename="a.pdf" /></ac:link></p>', "a.pdf"),
        ('<p><ac:link><ri:user ri:username="grace" /></ac:link></p>', "@grace"),
        ('<p><ac:link><ri:user ri:account-id="gone" /></ac:link></p>', "@unknown"),
        ('<p>by <time datetime="2026-03-01" /></p>', "by 2026-03-01"),
        ('<p><ac:emoticon ac:name="blue-star" ac:emoji-fallback="🎉" /> done</p>', "🎉 done"),
        ('<p><ac:emoticon ac:name="tick" ac:emoji-fallback=":check_mark:" /> done</p>', "✔ done"),
        ('<p><ac:inline-comment-marker ac:ref="1">kept</ac:inline-comment-marker></p>', "kept"),
        (
            '<ac:image ac:alt="스크린샷 2024-12-09.png"><ri:attachment ri:filename="a.png" />'
            '<ac:caption><p>항구</p></ac:caption><ac:adf-mark color="#091e4224" key="border" /></ac:image>',
            "항구",
        ),
        (
            '<ac:image ac:alt="The harbour"><ri:attachment ri:filename="a.png" />'
            "<ac:caption><p>In 1887</p></ac:caption></ac:image>",
            "The harbour In 1887",
        ),
        ('<p>a</p><ac:image><ri:url ri:value="https://e.org/a.png" /></ac:image>', "a"),
        ("<p>a</p><ac:placeholder>Type here</ac:placeholder>", "a"),
        (
            macro("warning", rich("<p>Not on Friday.</p>"), title="Careful"),
            "Warning: Careful\n\nNot on Friday.",
        ),
        (macro("info", rich("<p>Open.</p>")), "Info:\n\nOpen."),
        (macro("panel", rich("<p>b</p>"), title="Box", borderColor="red"), "Box\n\nb"),
        (macro("expand", rich("<ul><li>b</li></ul>"), title="More"), "More\n\n- b"),
        (macro("noformat", plain("a  b")), "```\na  b\n```"),
        (f"<p>Fix {macro('jira', key='ABC-1', server='Jira')} now</p>", "Fix ABC-1 now"),
        (
            macro("include", **{"": '<ac:link><ri:page ri:content-title="Intro" /></ac:link>'}),
            "(Included here: Intro)",
        ),
        (macro("view-file", name='<ri:attachment ri:filename="a.pdf" />'), "(File: a.pdf)"),
        (f"<p>a</p>{macro('toc', maxLevel='3')}{macro('children', all='true')}", "a"),
        (f"<p>a</p>{macro('excerpt', rich('<p>unseen</p>'), hidden='true')}", "a"),
        (macro("of-some-app", rich("<p>kept</p>"), setting="not said"), "kept"),
        (
            "<ac:layout><ac:layout-section><ac:layout-cell><p>a</p></ac:layout-cell>"
            "<ac:layout-cell><p>b</p></ac:layout-cell></ac:layout-section></ac:layout>",
            "a\n\nb",
        ),
        (
            '<ac:adf-extension><ac:adf-node type="panel"><ac:adf-attribute key="panel-type">note'
            '</ac:adf-attribute><ac:adf-attribute key="local-id">93a7</ac:adf-attribute>'
            "<ac:adf-content><p>Scope</p></ac:adf-content>"
            "</ac:adf-node><ac:adf-fallback><div><p>Scope</p></div></ac:adf-fallback></ac:adf-extension>",
            "Note:\n\nScope",
        ),
        (
            '<ac:adf-extension><ac:adf-node type="extension"><ac:adf-attribute key="extension-key">k'
            "</ac:adf-attribute></ac:adf-node><ac:adf-fallback><p>Shown instead</p></ac:adf-fallback>"
            "</ac:adf-extension>",
            "Shown instead",
        ),
    ],
)
def test_what_only_confluence_has_is_said_in_words(tmp_path: Path, storage: str, said: str):
    assert text(tmp_path, storage) == said


def test_tasks_say_whether_they_are_done_and_what_they_belong_to(tmp_path: Path):
    def task(status: str, body: str) -> str:
        return (
            f"<ac:task><ac:task-id>1</ac:task-id><ac:task-status>{status}</ac:task-status>"
            f"<ac:task-body>{body}</ac:task-body></ac:task>"
        )

    first = task("incomplete", '<span class="placeholder-inline-tasks">Write <strong>notes</strong></span>')
    inner = f"<ac:task-list>{task('complete', 'Ask Ada')}</ac:task-list>"
    storage = f"<ac:task-list>{first}{inner}{task('complete', '<p>Send</p>')}</ac:task-list>"
    assert text(tmp_path, storage) == "- [ ] Write notes\n  - [x] Ask Ada\n- [x] Send"


@pytest.mark.parametrize("storage", ["", "<p>&nbsp;</p>", macro("toc")])
def test_a_page_that_says_nothing_but_its_title_is_refused(tmp_path: Path, storage: str):
    path = tmp_path / "original"
    path.write_bytes(pack("Plan", storage, {}))
    with pytest.raises(DocumentRefused, match="holds no text"):
        load(path, "Plan.html")


def test_markup_in_titles_names_and_broken_pages_stays_text(tmp_path: Path):
    path = tmp_path / "page"
    hostile = '"><script>alert(1)</script>'
    storage = (
        f'<p><ac:link><ri:user ri:userkey="k" /></ac:link></p><p>open <ac:link><b></p>{macro("x")}</body>'
    )
    path.write_bytes(pack(hostile, storage, {"k": hostile}))
    document = read_confluence(path)
    assert document.title == hostile
    assert "@" + hostile in document.text
    assert "open" in document.text


def test_a_page_nested_beyond_reason_does_not_hang(tmp_path: Path):
    path = tmp_path / "original"
    path.write_bytes(pack("Deep", "<ac:rich-text-body>" * 30_000 + "<p>text</p>", {}))
    try:
        assert "text" in load(path, "Deep.html").text
    except DocumentRefused as error:
        assert "nested too deeply" in str(error) or "longer than" in str(error)
