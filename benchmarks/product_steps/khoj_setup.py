"""Make Khoj's database, with the model server as its embedding model. Runs in Khoj's environment."""

import sys
from pathlib import Path


def make_cross_encoder(folder: Path) -> None:
    """Write an untrained cross-encoder of one small layer, which Khoj loads and does not use."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", encoding="utf-8")
    shape = {"vocab_size": 5, "hidden_size": 8, "intermediate_size": 8}
    config = BertConfig(num_hidden_layers=1, num_attention_heads=1, num_labels=1, **shape)
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)


def main(address: str, model: str, cross_encoder: str) -> None:
    """Store the address and the models."""
    import khoj.main  # noqa: F401 - makes the database
    from khoj.database.models import SearchModelConfig

    make_cross_encoder(Path(cross_encoder))
    SearchModelConfig.objects.create(
        name="default",
        bi_encoder=model,
        embeddings_inference_endpoint=address,
        embeddings_inference_endpoint_api_key="none",
        embeddings_inference_endpoint_type="openai",
        cross_encoder=cross_encoder,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
