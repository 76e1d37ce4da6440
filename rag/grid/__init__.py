"""A grid: the same questions over many documents, every cell with the words it rests on."""
