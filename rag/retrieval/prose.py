"""Prose in a document: sentences that say something by themselves, told from figures, lists and footers."""

import re

from rag.retrieval.sentences import width

SHORTEST, LONGEST = 30, 400  # width of an informative sentence, in Latin letters
LETTERS = 0.6  # minimum share of letters in a sentence without its spaces: less is a row of figures
_NO_PROSE = re.compile(
    r"[|{}<>=\\`]|https?:|\.{4}|^\s*(?:[-*+•#>]|\d{1,3}[.)])\s|©|All rights reserved", re.I
)
_CONTEXT_DEPENDENT = re.compile(  # beginnings of a sentence that refers to the one before
    r"(?:it|its|this|that|these|those|they|their|he|his|she|her|we|our|you|your|i|my|such|there|here|however"
    r"|but|and|so|thus|then|also|therefore|moreover|furthermore|in addition|for example)\b"
    r"|(?:그|이|저|또|또한|그러나|하지만|따라서|그리고|그런데|이에|이를|이는|그는|그녀는|그것|이것|이러한|그러한|즉|예를)(?=\s)"
    r"|(?:これ|それ|あれ|この|その|あの|彼|また|しかし|そして|なお|ただし|例えば|ここ|そこ|さらに|一方)",
    re.IGNORECASE,
)
_ENDED = re.compile(r"[.。．!！?？][\"'”’」』）)\]]*\Z")


def is_informative(sentence: str) -> bool:
    """Return True for prose of a fit length that is complete in itself and mostly letters."""
    letters = sum(map(str.isalpha, sentence))
    return (
        SHORTEST <= width(sentence) <= LONGEST
        and letters >= LETTERS * len("".join(sentence.split()))
        and _ENDED.search(sentence) is not None
        and not sentence[0].islower()  # the end of a sentence that was cut
        and not _NO_PROSE.search(sentence)
        and not _CONTEXT_DEPENDENT.match(sentence)
    )
