"""Language models, embedding models and cross-encoders."""
