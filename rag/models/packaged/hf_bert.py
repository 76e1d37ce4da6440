"""A BERT as the Hugging Face hub keeps it (config.json, model.safetensors), read without torch."""

import json

import numpy as np

from rag.errors import ModelUnavailable
from rag.models.packaged.matrices import Floats
from rag.models.packaged.onnx_bert import BertShape

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"


def read_weights(safetensors: bytes) -> dict[str, Floats]:
    """Return the weights in float32 under BertModel's names; raises ModelUnavailable."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(safetensors)
    except (SafetensorError, KeyError) as error:
        raise ModelUnavailable(f"{WEIGHTS} cannot be read: {error}. Fetch the model again.") from error
    floating = {name.removeprefix("bert."): tensor for name, tensor in tensors.items() if tensor.ndim}
    return {name: tensor.astype(np.float32) for name, tensor in floating.items() if tensor.dtype.kind == "f"}


def read_shape(config: bytes) -> BertShape:
    """Return the shape; raises ModelUnavailable where the graph we build would not be this model."""
    try:
        values = json.loads(config)
        expected = {"model_type": "bert", "hidden_act": "gelu"}
        other = {key: values[key] for key, value in expected.items() if values[key] != value}
        if other or values.get("position_embedding_type", "absolute") != "absolute":
            raise ModelUnavailable(f"{CONFIG} describes another kind of model: {other or 'its positions'}.")
        return BertShape(
            values["num_hidden_layers"], values["num_attention_heads"], values.get("layer_norm_eps", 1e-12)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ModelUnavailable(f"{CONFIG} does not describe a BERT model: {error!r}.") from error
