"""Sample document for an empty library and for `footnote demo`, and a question that it answers.

There is one in each language of the interface.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """Sample document: its name, a question that it answers, and its file beside this module."""

    name: str
    question: str
    file: str

    @property
    def content(self) -> bytes:
        """The document's content."""
        return Path(__file__).with_name(self.file).read_bytes()


SAMPLES = {
    "en": Sample(
        "Sample: harbour report 2025.md", "How many containers did the harbour handle in 2025?", "sample.md"
    ),
    "ko": Sample(
        "예시: 가람항 보고서 2025.md", "2025년 가람항은 컨테이너를 몇 개 처리했습니까?", "sample.ko.md"
    ),
    "ja": Sample(
        "サンプル: 潮見港報告書 2025.md", "潮見港は2025年にコンテナを何個取り扱いましたか。", "sample.ja.md"
    ),
}


def sample_in(code: str) -> Sample:
    """Return the sample document in a language, in English where there is none.

    >>> sample_in("ja").file, sample_in("fr").file
    ('sample.ja.md', 'sample.md')
    """
    return SAMPLES.get(code, SAMPLES["en"])
