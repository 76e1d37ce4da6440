"""Short texts and tables in the encodings of East Asia and the West are read letter by letter."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import DocumentRefused
from rag.ingest.parsers import load
from rag.ingest.parsers.plain_text import decode
from rag.text.markdown import read_tables

WORDS = {
    "ja": (
        *("佐藤 健一", "田中 美咲", "髙橋 由紀", "小林 翔太", "渡邉 さくら", "営業部", "総務部", "経理課"),
        *("氏名", "部署", "入社日", "費目", "備考", "合計", "交通費", "消耗品費", "接待交際費", "修繕費"),
        *("東京都千代田区丸の内1-2-3", "大阪府大阪市北区梅田3丁目", "北海道札幌市", "株式会社青葉不動産"),
        *(
            "トナー",
            "ホワイトボード",
            "コピー用紙 A4",
            "２０２５年１０月",
            "¥18,420".replace("¥", "￥"),
            "№3",
        ),
    ),
    "ko": (
        *("김민수", "이지은", "박준호", "최유진", "정하늘", "영업팀", "총무팀", "개발팀", "회계팀", "인사팀"),
        *(
            "이름",
            "부서",
            "입사일",
            "항목",
            "비고",
            "합계",
            "교통비",
            "접대비",
            "도서비",
            "수선비",
            "금액(원)",
        ),
        *("서울특별시 강남구 테헤란로 12", "부산광역시 해운대구", "제주특별자치도", "한빛부동산 주식회사"),
        *("복사용지", "화이트보드", "사무용 의자", "출장", "점검", "계약금", "위약금"),
    ),
}
NUMBERS = ("201", "18420", "2015/4/1", "2025-10-02", "77000", "3.5%", "(12)", "A-101", "")
ENCODINGS = [("ja", "cp932"), ("ja", "euc_jp"), ("ko", "cp949"), ("ko", "euc_kr")]


@pytest.mark.parametrize(("language", "encoding"), ENCODINGS)
@given(data=st.data())
def test_tables_and_lists_of_names_amounts_and_addresses(
    language: str, encoding: str, data: st.DataObject
) -> None:
    word = st.sampled_from(WORDS[language])
    row = st.tuples(word, st.lists(st.one_of(word, st.sampled_from(NUMBERS)), max_size=4))
    rows = data.draw(st.lists(row, min_size=1, max_size=40))
    mark = data.draw(st.sampled_from([",", "\t", ";", "、" if language == "ja" else " "]))
    content = "\r\n".join(mark.join([first, *rest]) for first, rest in rows).encode(encoding, "ignore")
    assert decode(content) == content.decode(encoding)


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp"])
def test_a_short_japanese_table_keeps_its_headers(tmp_path: Path, encoding: str) -> None:
    table = "氏名,部署,内線,入社日\r\n佐藤 健一,営業部,201,2015/4/1\r\n田中 美咲,総務部,105,2018/10/1\r\n"
    (tmp_path / "x").write_bytes(table.encode(encoding))
    [read] = read_tables(load(tmp_path / "x", "名簿.csv").text)
    assert tuple(read.header) == ("氏名", "部署", "内線", "入社日")


def test_a_bank_list_of_half_width_katakana() -> None:
    text = "ﾌﾘｺﾐ,ﾔﾏﾀﾞ ﾀﾛｳ,120000\nﾌﾘｺﾐ,ｻﾄｳ ｹﾝｲﾁ,98000\n"
    assert decode(text.encode("cp932")) == text


@pytest.mark.parametrize(
    "text",
    ["Café", "El instrumento más útil", "Übergröße: 12 €", "“Ça va?” – né à Orléans", "Señor Muñoz;Ávila"],
)
def test_a_western_line_keeps_its_accents(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


def test_one_damaged_byte_leaves_the_rest_of_a_text() -> None:
    text = "退去後60日以内に敷金を返還する。\n" * 5
    content = text.encode("utf-8")
    assert decode(content[:42] + b"\xff" + content[42:]).replace("\ufffd", "")[-30:] == text[-30:]


def test_bytes_of_which_no_encoding_makes_letters_are_refused() -> None:
    with pytest.raises(DocumentRefused, match="not text in any encoding"):
        decode(bytes(range(0x80, 0xA0)) * 40)
