from pathlib import Path

import pytest

from rag.citations.checker import Checker, Judge
from rag.citations.judges import CrossEncoderJudge
from rag.errors import JudgeUnavailable
from rag.factory import make_judge, reading_seconds
from rag.passage import Passage
from rag.settings import Settings
from tests.rag.models.packaged.tiny_bert import write_tiny_bert

TEXT = "The mill was sold to a bank in spring. Its owner had asked for a higher price, and was refused."
PARAPHRASE = "In spring a bank bought the mill cheaply from Ann."
LOOSE = "The owner of the mill wanted other money in spring."


def passage(text: str = TEXT) -> Passage:
    return Passage("c", "d", "mill.txt", "", None, "", 0, len(text), text)


def cross_encoder(folder: Path, labels: list[str], biases: list[float]) -> Path:
    """Write a tiny cross-encoder that gives the same scores to every pair."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    write_tiny_bert(folder)
    config = BertConfig.from_pretrained(folder, num_labels=len(biases), id2label=dict(enumerate(labels)))
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor(biases))
    model.save_pretrained(folder, safe_serialization=True)
    return folder


@pytest.mark.parametrize(
    ("labels", "biases", "expected"),
    [
        (["contradiction", "ENTAILMENT", "neutral"], [0.0, 6.0, 0.0], 0.995),
        (["not_entailment", "entailment"], [5.0, 0.0], 0.007),
        (["score"], [0.0], 0.5),
    ],
)
def test_a_cross_encoder_gives_the_probability_of_its_entailment(
    tmp_path: Path, labels: list[str], biases: list[float], expected: float
):
    judge = CrossEncoderJudge(str(cross_encoder(tmp_path / "nli", labels, biases)))
    assert judge.support(LOOSE, TEXT) == pytest.approx(expected, abs=0.001)


def test_a_judge_that_cannot_be_had_is_one_sentence(tmp_path: Path):
    with pytest.raises(JudgeUnavailable, match=r"Citations cannot be judged\. .*FOOTNOTE_CITATION_JUDGE"):
        CrossEncoderJudge(str(tmp_path / "none")).support(LOOSE, TEXT)
    unnamed = cross_encoder(tmp_path / "nli", ["a", "b"], [0.0, 1.0])
    with pytest.raises(JudgeUnavailable, match="none of its classes entailment"):
        CrossEncoderJudge(str(unnamed)).support(LOOSE, TEXT)


def status(claim: str, judge: Judge | None) -> str:
    return Checker([passage()], judge=judge).check(claim).status


def test_a_judge_lifts_and_lowers_but_not_where_a_fact_differs(tmp_path: Path):
    labels = ["entailment", "neutral", "contradiction"]
    yes = CrossEncoderJudge(str(cross_encoder(tmp_path / "yes", labels, [9.0, 0.0, 0.0])))
    no = CrossEncoderJudge(str(cross_encoder(tmp_path / "no", labels, [0.0, 9.0, 0.0])))
    told = "In spring the mill was sold to a bank."
    assert (status(LOOSE, None), status(LOOSE, yes), status(LOOSE, no)) == ("related", "verified", "related")
    assert (status(told, None), status(told, no)) == ("verified", "related")
    assert status(PARAPHRASE, yes) == "related"  # Ann is nowhere
    assert status("The mill was not sold to a bank in spring.", yes) == "related"
    assert status(TEXT.split(".")[0] + ".", no) == "verified"  # word for word


def test_the_settings_name_the_judge():
    assert make_judge(Settings(citation_judge="folder")) == CrossEncoderJudge("folder")
    assert [make_judge(Settings(citation_judge=name)) for name in ("llm", "off", "")] == [None] * 3
    assert reading_seconds(Settings(citation_seconds=5)) == 5
    assert [reading_seconds(Settings(citation_judge=name)) for name in ("off", "", "folder")] == [None] * 3


def test_every_turn_is_judged_by_one_loaded_model():
    settings = Settings(citation_judge="folder")
    assert make_judge(settings) is make_judge(settings)
    assert make_judge(Settings(citation_judge="other")) == CrossEncoderJudge("other")
