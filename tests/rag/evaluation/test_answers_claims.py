import json
from pathlib import Path

import pytest

from rag.errors import QuestionRefused
from rag.evaluation.answers import Claim, Verdict, load_claims, score_citations

PLAIN = {"claim": "The hall opened.", "passages": ["The hall opened."], "supported": True}
WICE = {"claim": "It rained.", "label": "partially_supported", "evidence_sentences": ["It rained.", "A lot."]}
EVIDENCE = "[1] https://a.example/b\n\nThe hall opened in May and closed in June, as the city had wished."
EXPERTQA = {
    "answers": {
        "one": {
            "claims": [
                {"claim_string": "It opened in May [1].", "evidence": [EVIDENCE], "support": "Complete"},
                {"claim_string": "It was big [1].", "evidence": [EVIDENCE], "support": "Incomplete"},
                {"claim_string": "Nobody judged.", "evidence": [EVIDENCE], "support": "N/A"},
                {"claim_string": "No text.", "evidence": ["[2] https://a.example"], "support": "Complete"},
            ]
        }
    }
}


def written(path: Path, *entries: object) -> Path:
    path.write_text("\n".join(json.dumps(entry) for entry in entries) + "\n", encoding="utf-8")
    return path


def test_claims_are_read_in_three_forms(tmp_path: Path):
    text = EVIDENCE.split("\n\n")[1]
    assert load_claims(written(tmp_path / "c.jsonl", PLAIN, WICE, EXPERTQA)) == [
        Claim("The hall opened.", ("The hall opened.",), True),
        Claim("It rained.", ("It rained.\n\nA lot.",), False),
        Claim("It opened in May.", (text,), True),
        Claim("It was big.", (text,), False),
    ]


@pytest.mark.parametrize(
    "entry",
    [[], {}, {"claim": "x"}, {**PLAIN, "passages": "text"}, {**PLAIN, "supported": 1}, PLAIN | {"claim": 1}],
)  # fmt: skip
def test_what_is_no_claim_is_refused_by_its_line(tmp_path: Path, entry: object):
    with pytest.raises(QuestionRefused, match=r"Line 2 of .*c.jsonl is no claim"):
        load_claims(written(tmp_path / "c.jsonl", PLAIN, entry))


def test_a_file_without_claims_is_refused(tmp_path: Path):
    with pytest.raises(QuestionRefused, match="nothing to measure"):
        load_claims(written(tmp_path / "c.jsonl"))


def test_measures_are_of_what_was_verified_or_of_what_scored_enough():
    verdicts = [
        Verdict(True, "verified", 0.9),
        Verdict(False, "verified", 0.7),
        Verdict(True, "related", 0.0),
        Verdict(False, "unsupported", 0.0),
    ]
    found = score_citations(verdicts)
    rates = {"precision": 0.5, "recall": 0.5, "f1": 0.5, "accuracy": 0.5}
    assert found == {"verified": 2, "right": 1, **rates}
    assert score_citations(verdicts, 0.8)["precision"] == 1.0
    assert score_citations(verdicts, 0.95) == score_citations(
        [Verdict(True, "related", 0.0), Verdict(False, "related", 0.0)]
    )
