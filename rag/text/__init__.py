"""Text: language, sentences, tokens, normalisation, chunking and Markdown."""
