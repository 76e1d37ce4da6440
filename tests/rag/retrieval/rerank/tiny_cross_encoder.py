"""A tiny cross-encoder on disk whose right order is known: the more of a pair's letters are z, the better."""

import json
from pathlib import Path

from tokenizers import Tokenizer, processors

from tests.rag.models.packaged.tiny_bert import HIDDEN, WORDS, write_tiny_bert


def write_tiny_cross_encoder(folder: Path, *, scores: int = 1) -> Path:
    """Write a model of one layer, whose first token takes the mean over all; z has an axis of its own."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    write_tiny_bert(folder)
    _write_pairs(folder / "tokenizer.json")
    config = BertConfig.from_pretrained(folder, num_labels=scores, num_hidden_layers=1)
    model = BertForSequenceClassification(config)
    weights = {name: torch.zeros_like(tensor) for name, tensor in model.state_dict().items()}
    for name, tensor in weights.items():
        if name.endswith("LayerNorm.weight"):
            tensor.fill_(1.0)
    eye = torch.eye(HIDDEN)
    words = weights["bert.embeddings.word_embeddings.weight"]
    words[WORDS.index("z")] = words[WORDS.index("##z")] = eye[0]
    words[WORDS.index("[CLS]")] = eye[1]
    layer = "bert.encoder.layer.0.attention"
    weights[f"{layer}.self.value.weight"] = weights[f"{layer}.output.dense.weight"] = eye
    weights["bert.pooler.dense.weight"][0, 0] = 0.1
    weights["classifier.weight"][:, 0] = 1.0
    model.load_state_dict(weights)
    model.save_pretrained(folder, safe_serialization=True)
    return folder


def _write_pairs(file: Path) -> None:
    """Have the tokenizer put two texts together as a BERT reads them."""
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(file))
    named = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "model_max_length": 512}
    (file.parent / "tokenizer_config.json").write_text(json.dumps(named), encoding="utf-8")
