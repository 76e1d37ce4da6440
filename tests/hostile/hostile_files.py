"""Files that mean harm, each made in a few lines: bombs, circles, depths, false sizes, missing ends."""

import base64
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.ole_makers import (
    below,
    control,
    deflated,
    hwp,
    msg,
    ole,
    paragraph,
    properties,
    record,
    table,
)
from tests.rag.ingest.parsers.test_hangul import hwpx, p, t

Make = Callable[[Path], object]
LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
SVG = 'xmlns="http://www.w3.org/2000/svg"'
PASSWD = '<!DOCTYPE x [<!ENTITY b SYSTEM "file:///etc/passwd">]>'
_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_SPACES = "".join(f' xmlns:{name}="{_OASIS}{name}:1.0"' for name in ("office", "text", "table"))


def raw(content: bytes) -> Make:
    """Write bytes."""
    return lambda path: path.write_bytes(content)


def cut(make: Make, share: float) -> Make:
    """Write a file and take its end away."""

    def made(path: Path) -> None:
        make(path)
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])

    return made


def opendocument(body: str, kind: str = "text", prolog: str = "", **more: bytes) -> Make:
    """Write an OpenDocument file."""
    inner = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    content = f"{prolog}<office:document-content{_SPACES}>{inner}</office:document-content>"
    media = f"application/vnd.oasis.opendocument.{kind}"
    members = {"mimetype": media.encode(), "content.xml": content.encode(), **more}
    return lambda path: makers.zipped(path, members)


def changed(make: Make, members: Mapping[str, bytes]) -> Make:
    """Write a container with other members, or more of them."""

    def made(path: Path) -> None:
        make(path)
        with zipfile.ZipFile(path) as archive:
            kept = {name: archive.read(name) for name in archive.namelist()}
        makers.zipped(path, {**kept, **members})

    return made


def lying(make: Make, size: int) -> Make:
    """Write a container whose directory says that each member unpacks to so many bytes."""

    def made(path: Path) -> None:
        make(path)
        content = bytearray(path.read_bytes())
        at = content.find(b"PK\x01\x02")
        while at >= 0:
            struct.pack_into("<I", content, at + 24, size)
            at = content.find(b"PK\x01\x02", at + 4)
        path.write_bytes(bytes(content))

    return made


def pdf(*objects: str, trailer: str = "/Root 1 0 R") -> Make:
    """Write a PDF of numbered objects, with a table of where each begins."""
    return raw(pdf_of(*objects, trailer=trailer))


def pdf_of(*objects: str, trailer: str = "/Root 1 0 R") -> bytes:
    content, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj{body}endobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size, start = len(objects) + 1, len(content)
    content += f"xref\n0 {size}\n0000000000 65535 f \n{table}".encode()
    content += f"trailer<</Size {size}{trailer}>>\nstartxref\n{start}\n%%EOF".encode()
    return content


def stream(content: bytes, more: str = "") -> str:
    """Return an object of a PDF that is a stream."""
    return f"<<{more}/Length {len(content)}>>stream\n{content.decode('latin-1')}\nendstream "


CATALOG, PAGES = "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>"
WORDS = stream(b"BT /F 12 Tf 20 100 Td (harbour) Tj ET")
FORM = "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R>>>>"
PAGE = (
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F<</Type/Font"
    "/Subtype/Type1/BaseFont/Helvetica>>>>/XObject<</X 5 0 R>>>>"
)


def inflating(path: Path) -> int:
    """Write a PDF with a page of 64 MB of spaces."""
    spaces = stream(zlib.compress(b" " * (64 << 20), 9), "/Filter/FlateDecode")
    return path.write_bytes(pdf_of(CATALOG, PAGES, PAGE + ">>", spaces, "null"))


def zip_bomb(path: Path, size: int = 101 << 20) -> bytes:
    """Return an archive that unpacks to so many bytes."""
    content = makers.zipped(path, {"a.txt": bytes(size)}).read_bytes()
    path.unlink()
    return content


def nested_mail(depth: int) -> bytes:
    """Return a message attached to a message attached to a message."""
    mail = b"Subject: Inner\nContent-Type: text/plain\n\nharbour\n"
    for _ in range(depth):
        mail = b"Subject: Outer\nMIME-Version: 1.0\nContent-Type: message/rfc822\n\n" + mail
    return b"From: a@example.org\nTo: b@example.org\n" + mail


def nested_parts(depth: int) -> bytes:
    """Return a message of parts of parts of parts."""
    head = b"From: a@example.org\nTo: b@example.org\nSubject: Parts\nMIME-Version: 1.0\n"
    opened = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(depth)
    )
    return head + opened + b"Content-Type: text/plain\n\nharbour\n"


def mail(body: bytes, kind: bytes = b"text/plain", **more: str) -> bytes:
    """Return a plain message."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in more.items()).encode()
    head = b"From: a@example.org\nTo: b@example.org\nSubject: Mail\nContent-Type: "
    return head + kind + b"\n" + lines + b"\n" + body


def png(width: int, height: int) -> bytes:
    """Return a picture that says it is so large, and holds nothing."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    data = b"IDAT" + zlib.compress(b"")
    chunks = (head, data, b"IEND")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks
    )


def circling_tiff() -> bytes:
    """Return a picture whose only frame is followed by itself."""
    entries = [(256, 3, 1, 8), (257, 3, 1, 8), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8)]
    entries += [(278, 3, 1, 8), (279, 4, 1, 64)]
    table = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return b"II*\0" + struct.pack("<I", 72) + bytes(64) + table + struct.pack("<I", 72)


def bmp(width: int, height: int) -> bytes:
    """Return a bitmap's head without its pixels."""
    return b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)


def deep(before: str, after: str, depth: int, inner: str = "harbour") -> str:
    """Return something in something in something."""
    return before * depth + inner + after * depth


def deep_word(before: str, depth: int) -> bytes:
    """Return a Word document of elements in elements."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    after = "".join(f"</{name}>" for name in reversed(before.strip("<>").split("><")))
    body = deep(before, after, depth, "<w:p><w:r><w:t>harbour</w:t></w:r></w:p>")
    return f"<w:document {space}><w:body>{body}</w:body></w:document>".encode()


def deep_slide(depth: int) -> bytes:
    """Return a slide of groups in groups."""
    space = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    tree = deep("<p:grpSp>", "</p:grpSp>", depth, "")
    return f"<p:sld {space}><p:cSld><p:spTree>{tree}</p:spTree></p:cSld></p:sld>".encode()


def tar() -> bytes:
    """Return an archive with a path that climbs out."""
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../../evil.txt"))
    return buffer.getvalue()


ENDLESS = "9" * 99
ENDLESS_TABLE = (
    f'<hp:tbl><hp:tr><hp:tc><hp:cellAddr colAddr="{ENDLESS}" rowAddr="{ENDLESS}"/>'
    f'<hp:cellSpan colSpan="{ENDLESS}" rowSpan="{ENDLESS}"/></hp:tc></hp:tr></hp:tbl>'
)


def deep_hwp(path: Path, depth: int) -> None:
    """Write tables in tables, as far as the levels of its records go."""
    body = b"".join(
        record(0x42, 3 * level, bytes(22))
        + record(0x47, 3 * level + 1, b" lbt")
        + record(0x48, 3 * level + 2)
        for level in range(depth)
    )
    hwp(path, paragraph(0, "harbour") + body + paragraph(3 * depth, "harbour"))


def wide_hwp(path: Path) -> None:
    """Write a table whose cells say that they span all others."""
    places = range(0, 65_535, 13)
    cells = ((row, row, 65_535, 65_535, "harbour") for row in places)
    hwp(path, paragraph(0, table(0, *cells)))


def circling_ole(path: Path) -> None:
    """Write a container in which each sector of a stream follows itself."""
    ole(path, {"FileHeader": b"HWP Document File" + bytes(9000), "BodyText/Section0": bytes(9000)})
    content = bytearray(path.read_bytes())
    first_fat = struct.unpack_from("<I", content, 76)[0]
    for sector in range(100):
        struct.pack_into("<I", content, 512 * (first_fat + 1) + 4 * sector, sector)
    path.write_bytes(content)


def russian_msg(path: Path, depth: int) -> None:
    """Write a message in a message in a message."""
    streams, folder = {}, ""
    for _ in range(depth):
        folder += "/__attach_version1.0_#00000000/__substg1.0_3701000D"
        streams |= below(folder[1:], properties({0x0037: "Inner", 0x1000: "harbour"}, {}, 24))
    msg(path, {0x1000: "harbour"}, **streams)


def mail_with(name: str, content: bytes) -> bytes:
    """Return a message with a file attached."""
    head = f'--b\n\nharbour\n--b\nContent-Disposition: attachment; filename="{name}"\n'
    encoded = b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(content) + b"\n--b--"
    return mail(head.encode() + encoded, b'multipart/mixed; boundary="b"')


FILES: dict[str, tuple[str, Make]] = {
    "hwp bomb": ("a.hwp", lambda path: hwp(path, packed=[deflated(bytes(400 << 20))])),
    "hwp of deep tables": ("a.hwp", lambda path: deep_hwp(path, 300)),
    "hwp of cells that span all": ("a.hwp", wide_hwp),
    "hwp of a record that goes on": (
        "a.hwp",
        lambda path: hwp(path, paragraph(0, "harbour") + struct.pack("<II", 0xFFF00042, 0xFFFFFFFF)),
    ),
    "hwp without its controls": (
        "a.hwp",
        lambda path: hwp(path, paragraph(0, "harbour", control(b"tbl ")) + record(0x43, 0, b"\x0b\0\x0b")),
    ),
    "ole in a circle": ("a.hwp", circling_ole),
    "hwpx of a billion laughs": (
        "a.hwpx",
        lambda path: hwpx(path, **{"Contents/section0.xml": f"{LAUGHS}<a>&b;</a>".encode()}),
    ),
    "hwpx of deep tables": (
        "a.hwpx",
        lambda path: hwpx(
            path,
            p(t("harbour"))
            + deep(
                "<hp:p><hp:run><hp:tbl><hp:tr><hp:tc><hp:subList>",
                "</hp:subList></hp:tc></hp:tr></hp:tbl></hp:run></hp:p>",
                400,
                p(t("harbour")),
            ),
        ),
    ),
    "hwpx of numbers without end": ("a.hwpx", lambda path: hwpx(path, p(t("harbour"), 3) + p(ENDLESS_TABLE))),
    "rtf of deep groups": ("a.rtf", raw(b"{\\rtf1 harbour\\par " + b"{" * 1_000_000)),
    "rtf of rows without end": ("a.rtf", raw(b"{\\rtf1 harbour\\par " + b"\\cell\\row" * 100_000 + b"}")),
    "msg in msg in msg": ("a.msg", lambda path: russian_msg(path, 60)),
    "mail with a bomb": ("a.eml", lambda path: path.write_bytes(mail_with("a.zip", zip_bomb(path)))),
    "zip of a thousand copies of itself": (
        "a.zip",
        lambda path: makers.zipped(path, {f"{n}.zip": zip_bomb(path, 1 << 10) for n in range(20)}),
    ),
    "xlsx bomb": ("a.xlsx", lying(makers.xlsx, 400 << 20)),
    "odt bomb": ("a.odt", lying(opendocument("<text:p>x</text:p>"), 400 << 20)),
    "docx that lies about its size": (
        "a.docx",
        lying(changed(makers.docx, {"word/media/a.xml": bytes(64 << 20)}), 7),
    ),
    "odt of a billion laughs": ("a.odt", opendocument("<text:p>&b;</text:p>", prolog=LAUGHS)),
    "ods that reads a file": ("a.ods", opendocument("&b;", "spreadsheet", prolog=PASSWD)),
    "odt whose styles laugh": (
        "a.odt",
        opendocument("<text:p>harbour</text:p>", **{"styles.xml": f"{LAUGHS}<a>&b;</a>".encode()}),
    ),
    "svg of a billion laughs": (
        "a.svg",
        raw(f"{LAUGHS}<svg {SVG}><text>harbour &b;</text></svg>".encode()),
    ),
    "xml that reads a file": ("a.xml", raw(f'<?xml version="1.0"?>{PASSWD}<a>harbour &b;</a>'.encode())),
    "html with entities of its own": (
        "a.html",
        raw(f"{LAUGHS}<html><body><p>harbour &b;</p></body></html>".encode()),
    ),
    "docx whose relations lead out": (
        "a.docx",
        changed(
            makers.docx,
            {
                "word/_rels/document.xml.rels": b'<Relationships xmlns="http://schemas.openxmlformats.org/'
                b'package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/'
                b'officeDocument/2006/relationships/image" Target="../../../../etc/passwd"/></Relationships>'
            },
        ),
    ),
    "docx of deep controls": (
        "a.docx",
        changed(makers.docx, {"word/document.xml": deep_word("<w:sdt><w:sdtContent>", 3000)}),
    ),
    "pptx of deep groups": (
        "a.pptx",
        changed(makers.pptx, {"ppt/slides/slide1.xml": deep_slide(2000)}),
    ),
    "odt of deep lists": (
        "a.odt",
        opendocument(deep("<text:list><text:list-item>", "</text:list-item></text:list>", 5000)),
    ),
    "odt of deep spans": (
        "a.odt",
        opendocument(f"<text:p>{deep('<text:span>', '</text:span>', 20000)}</text:p>"),
    ),
    "odt of a number without end": (
        "a.odt",
        opendocument(
            f'<text:p>harbour</text:p><table:table><table:table-row table:number-rows-repeated="{"9" * 300}">'
            f'<table:table-cell table:number-columns-repeated="{"9" * 300}"><text:p>x</text:p>'
            "</table:table-cell></table:table-row></table:table>"
        ),
    ),
    "xml of deep elements": ("a.xml", raw(deep("<a>", "</a>", 50_000).encode())),
    "svg of deep groups": ("a.svg", raw(f"<svg {SVG}>{deep('<g>', '</g>', 20_000)}</svg>".encode())),
    "json of deep lists": ("a.json", raw(deep("[", "]", 200_000, '"harbour"').encode())),
    "yaml of aliases": (
        "a.yaml",
        raw(
            b"a: &a [harbour]\n"
            + b"".join(b"%c: &%c [*%c,*%c]\n" % (n + 1, n + 1, n, n) for n in range(97, 120))
        ),
    ),
    "quotes in quotes": ("a.md", raw(b">" * 5000 + b" harbour")),
    "lists in lists": ("a.md", raw(b"".join(b"  " * n + b"- harbour\n" for n in range(400)))),
    "tables in tables": (
        "a.html",
        raw(f"<html><body>{deep('<table><tr><td>', '</td></tr></table>', 60)}</body></html>".encode()),
    ),
    "attributes without end": ("a.html", raw(b"<html><p " + b"a=1 " * 200_000 + b">harbour</p></html>")),
    "mail in mail in mail": ("a.eml", raw(nested_mail(300))),
    "parts in parts in parts": ("a.eml", raw(nested_parts(300))),
    "mail of 20,000 parts": (
        "a.eml",
        raw(mail(b"--b\nContent-Type: text/plain\n\nharbour\n" * 20_000, b'multipart/mixed; boundary="b"')),
    ),
    "mail that never ends a part": ("a.eml", raw(mail(b"--b\n\nharbour", b'multipart/mixed; boundary="b"'))),
    "mail of broken base64": ("a.eml", raw(mail(b"harbour=!?\xff\xfe", Content_Transfer_Encoding="base64"))),
    "mail in an unknown encoding": ("a.eml", raw(mail(b"harbour", b"text/plain; charset=klingon"))),
    "mail with a header of a megabyte": ("a.eml", raw(mail(b"harbour", X_Long="x" * 1_000_000))),
    "mail with an attachment that climbs": (
        "a.eml",
        raw(
            mail(
                b"--b\n\nharbour\n--b\nContent-Disposition: attachment; "
                b'filename="../../a\x00b.txt"\n\nx\n--b--',
                b'multipart/mixed; boundary="b"',
            )
        ),
    ),
    "png of sixty thousand squared": ("a.png", raw(png(60_000, 60_000))),
    "png of two billion": ("a.png", raw(png(2_147_483_647, 2_147_483_647))),
    "bmp of two billion": ("a.bmp", raw(bmp(2_147_483_647, -2_147_483_647))),
    "tiff in a circle": ("a.tiff", raw(circling_tiff())),
    "webp of its head": ("a.webp", raw(b"RIFF\xff\xff\xff\xffWEBPVP8 \xff\xff\xff\xff")),
    "pdf of two billion pages": (
        "a.pdf",
        pdf(CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 2147483647>>", PAGE + ">>", WORDS, "null"),
    ),
    "pdf of less than no pages": (
        "a.pdf",
        pdf(CATALOG, "<</Type/Pages/Kids[3 0 R]/Count -5>>", PAGE + ">>", WORDS, "null"),
    ),
    "pdf whose pages are each other": (
        "a.pdf",
        pdf(
            CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Pages/Kids[2 0 R]/Count 1/Parent 2 0 R>>"
        ),
    ),
    "pdf that draws itself": (
        "a.pdf",
        pdf(CATALOG, PAGES, PAGE + ">>", WORDS.replace("ET", "ET /X Do"), stream(b"/X Do", FORM)),
    ),
    "pdf whose table leads to itself": (
        "a.pdf",
        pdf(CATALOG, PAGES, PAGE + ">>", WORDS, "null", trailer="/Root 1 0 R/Prev 9"),
    ),
    "pdf whose object streams extend each other": (
        "a.pdf",
        pdf(
            CATALOG,
            PAGES,
            PAGE + ">>",
            WORDS,
            stream(b"6 0 null", "/Type/ObjStm/N 1/First 4/Extends 6 0 R"),
            stream(b"5 0 null", "/Type/ObjStm/N 1/First 4/Extends 5 0 R"),
        ),
    ),
    "pdf whose outline is a circle": (
        "a.pdf",
        pdf(
            "<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>",
            *(PAGES, PAGE + ">>", WORDS, "null", "<</First 7 0 R/Last 7 0 R/Count 1>>"),
            "<</Title(Deep)/Parent 6 0 R/Next 7 0 R/First 7 0 R/Last 7 0 R>>",
        ),
    ),
    "pdf with a bomb for a page": ("a.pdf", inflating),
    "pdf of a length that lies": (
        "a.pdf",
        pdf(CATALOG, PAGES, PAGE + ">>", WORDS.replace("/Length", "/Length 99999999999/Was"), "null"),
    ),
    "pdf of a page as large as a country": (
        "a.pdf",
        pdf(CATALOG, PAGES, PAGE.replace("200 200", "99999999 99999999") + ">>", WORDS, "null"),
    ),
    "pdf that runs a script": (
        "a.pdf",
        pdf(
            "<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.alert\\(1\\))>>>>",
            *(PAGES, PAGE + "/AA<</O<</S/Launch/F(/bin/sh)>>>>>>", WORDS, "null"),
        ),
    ),
    "pdf locked in a way nobody knows": (
        "a.pdf",
        pdf(
            CATALOG,
            PAGES,
            PAGE + ">>",
            WORDS,
            "null",
            "<</Filter/Mystery/V 9>>",
            trailer="/Root 1 0 R/Encrypt 6 0 R",
        ),
    ),
    "zip with a name of NULs": (
        "a.zip",
        lambda path: makers.zipped(path, {"a\x00b.docx": b"harbour", "/../../etc/passwd": b"harbour"}),
    ),
    "gzip": ("a.gz", raw(b"\x1f\x8b\x08\0" + bytes(400))),
    "tar that climbs out": ("a.tar", raw(tar())),
    "program": ("a.txt", raw(b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 8)),
    "old Word": ("a.doc", raw(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000))),
    "csv of one open quote": ("a.csv", raw(b'a,b\n"harbour,' + b"x,\n" * 100_000)),
    "odt cut": ("a.odt", cut(opendocument("<text:p>harbour</text:p>" * 50), 0.6)),
    "epub cut": ("a.epub", cut(makers.epub, 0.7)),
    "eml cut": ("a.eml", cut(raw(nested_parts(2) + b"x" * 500), 0.5)),
    "html cut": ("a.html", cut(raw(b"<html><body><p>harbour</p><table><tr><td>a" + b"<!--" * 99), 0.5)),
    "pptx without slides' text": ("a.pptx", changed(makers.pptx, {"ppt/slides/slide1.xml": b"\0" * 100})),
    "xlsx of a cell far away": (
        "a.xlsx",
        changed(
            makers.xlsx,
            {
                "xl/worksheets/sheet1.xml": b'<worksheet xmlns="http://schemas.openxmlformats.org/'
                b'spreadsheetml/2006/main"><sheetData><row r="1048576"><c r="XFD1048576" t="inlineStr"><is>'
                b"<t>harbour</t></is></c></row></sheetData></worksheet>"
            },
        ),
    ),
}
