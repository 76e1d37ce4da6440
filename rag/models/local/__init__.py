"""A language model of one's own: fetched as data, served on this computer by llama.cpp."""
