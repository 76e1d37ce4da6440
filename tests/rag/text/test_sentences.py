import pytest

from rag.text.sentences import sentences


@pytest.mark.parametrize(
    "told",
    [
        ["이 계약은 2025. 4. 17.부터 2026. 4. 16.까지로 한다.", "그 뒤에는 끝난다."],
        ["회의는 2025. 4. 17. 서울에서 열린다.", "다음 회의는 없다."],
        ["시행일은 2025.4.17. 목요일이다.", "끝이다."],
        ["The quay opened in 2019.", "4 ships came."],
        ["It was rebuilt in 2019.", "12 cranes stand there."],
    ],
)
def test_a_date_in_numbers_ends_no_sentence(told: list[str]):
    text = " ".join(told)
    assert [text[start:end] for start, end in sentences(text)] == told
