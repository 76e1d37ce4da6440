"""Questions about a whole document or scope, recognised by rule: overviews, topics, lists and authors.

The patterns are data, one set a language. What names documents in a question is left out before it is
matched: "What is the AutoGen paper about?" asks for an overview of the AutoGen paper.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.ingest.document_facts import DocumentProfile
from rag.retrieval.question_type import asks_for_overview
from rag.text.language import STOP_WORDS
from rag.text.tokenize import tokens

Kind = Literal["overview", "topic", "list", "documents", "author"]
MOST_CALLED = 5  # documents that one word of a title may name

_AUTHOR = re.compile(
    r"\bwho (?:wrote|authored|has written|is the (?:author|writer)|are the (?:authors|writers))\b"
    r"|\bauthors? of\b|\bwritten by whom\b"
    r"|(?:누가|누구)\S*\s.{0,30}(?:썼|쓴|작성|저술)|(?:저자|작성자|글쓴이|지은이)(?:는|가|은|이)?\s*(?:누구|\?|$)"
    r"|誰が.{0,30}(?:書い|執筆|作成)|(?:著者|作者|筆者|作成者|執筆者)(?:は|が)?(?:誰|だれ|[?？]|$)",
    re.IGNORECASE,
)
_DOCUMENTS = (
    re.compile(
        r"^(?:which|what|how many|list (?:all |the |all the )?|show (?:me )?(?:all |the )?)\s*"
        r"(?:of (?:my|the) )?(?:my |the )?(?:documents?|files?|papers?|reports?|pages?|contracts?|notes?)"
        r"\s+(?:that )?(?:do |does |are |is |were )?(?:mention|talk about|speak of|contain|discuss|refer to"
        r"|deal with|cover|includ|about|describ|say something about|have the words?)\w*"
        r"\s+(?P<subject>.{2,120}?)\s*\??$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?P<subject>.{1,60}?)(?:을|를|이|가|에 대해|에 관해|에 대한|에 관한|이라는 말이)?\s*"
        r"(?:언급(?:하는|한|된)|다루는|다룬|포함(?:하는|된|한)|나오는|들어\s?있는|설명하는|있는|관한|대한)\s*"
        r"(?:모든\s*)?(?:문서|파일|자료|보고서)(?:는|은|를|을|가|이)?\s*(?:모두|전부)?\s*"
        r"(?:무엇|뭐|어떤|몇|어느|알려|보여|나열|찾아|목록|\?|$).*$"
    ),
    re.compile(
        r"^(?P<subject>.{1,60}?)(?:に(?:ついて|関して)?|を|が|の)?\s*"
        r"(?:言及(?:している|する|した)|述べている|触れている|扱っている|扱う|含む|含まれる|説明している|出てくる|書かれている|書いてある|ある|関する)"
        r"(?:すべての|全ての)?(?:文書|ファイル|資料|ドキュメント|報告書)(?:は|を|が)?"
        r"(?:どれ|何|いくつ|すべて|全て|教え|一覧|挙げ|リスト|[?？]|$).*$"
    ),
)
_LIST = (
    re.compile(
        r"^(?:please |can you |could you )?(?:list|enumerate|name|give me|show me|show|find)"
        r"(?: me)?(?: a list of| the list of)?\s+(?:all|every|each)(?: of)?(?: the| my)?"
        r"\s+(?P<subject>.{2,100}?)[.?!]*$"
        r"|^(?:please )?(?:list|enumerate)\s+(?:the |my )?(?P<listed>.{2,100}?)[.?!]*$"
        r"|^how many\s+(?P<counted>.{2,90}?)\s+"
        r"(?:(?:are|is|were)\b"
        r"|(?:do|does|did)\s+(?:(?:I|we|you|they)\s+have"
        r"|(?:[\w' -]{1,40}\s)?(?:list|name|mention|contain|describe|define))"
        r")\b(?P<rest>.{0,60})$"
        r"|^(?:what|which) are (?:all|all of) (?:the )?(?P<all>.{2,100}?)[.?!]*$"
        r"|^(?:what|which)\s+(?P<there>.{2,60}?)\s+(?:are there|exist|(?:do|did) (?:we|i|you|they) have"
        r"|are (?:named|mentioned|listed))\b.{0,40}$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:모든\s+(?P<subject>.{1,50}?)(?:을|를|은|는|이|가)?|(?P<listed>.{1,50}?)(?:을|를|은|는|이|가)?\s*(?:모두|전부|다|목록을?))\s*"
        r"(?:나열|열거|알려|보여|찾아|정리|말해|적어|뽑아|무엇|뭐)\S*.{0,12}$"
        r"|^(?P<counted>.{1,50}?)(?:은|는|이|가)?\s*(?:모두|전부|총)?\s*몇\s*(?:개|가지|건|명|곳|편|장|번|종|단계|항목)"
        r"\s*(?:이|가|나)?\s*(?:인|입|있|이[에죠지]|예|야|나오|언급|되|돼|[?？]|$).{0,12}$"
    ),
    re.compile(
        r"^(?:すべての|全ての|全)(?P<subject>.{1,50}?)を?(?:列挙|挙げ|教え|リスト|示し|一覧|書き出|まとめ).{0,15}$"
        r"|^(?P<listed>.{1,50}?)を?(?:すべて|全て|全部|一覧で|もれなく)(?:列挙|挙げ|教え|リスト|示し|書き出|並べ|まとめ).{0,15}$"
        r"|^(?P<counted>.{1,50}?)(?:は|が)?(?:全部で|合計)?(?:いくつ|何(?:個|件|つ|種類|人|名|社|箇所|か所|項目|段階|本|枚|通|点|台|冊|校|軒|回))"
        r"(?:です|でしょう|ある|あり|い[るま]|載|記|挙げ|書かれ|含ま|か|[?？]|$).{0,12}$"
        r"|^(?P<named>.{1,50}?)の(?:一覧|リスト)(?:を|は)?(?:教え|示し|見せ|作|出し|[?？]|$).{0,15}$"
    ),
)
_TOPIC = (
    re.compile(
        r"^(?:please )?(?:tell me (?:about|something about|more about)|explain|describe|what about|talk about"
        r"|give me an overview of|summari[sz]e|overview of|outline)\s+(?:the |all |our |my )?"
        r"(?P<subject>.{2,80}?)[.?!]*$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?P<subject>.{1,40}?)(?:에 대해서?|에 관해서?|을|를)?\s*"
        r"(?:알려|설명해|요약해|정리해|이야기해|말해)\S*\s?\S{0,6}$"
    ),
    re.compile(
        r"^(?P<subject>.{1,40}?)(?:について|に関して|を)\s*(?:教えて|説明して|要約して|まとめて|話して).{0,8}$"
    ),
)
_CONTAINERS = frozenset(
    tokens(
        "document documents file files paper papers report reports text collection library filing filings"
        " note page pages section sections pdf book article here there these this that mentioned listed",
        "en",
    )
) | {"문서", "파일", "자료", "보고", "고서", "논문", "文書", "資料", "報告", "告書", "論文", "本書"}
_LISTED = frozenset(
    tokens(
        "listed named mentioned contained described defined given saved total all altogether overall exactly"
        " across whole entire anywhere please roughly about",
        "en",
    )
)
_ABOUT = re.compile(r"\babout\s*\?*$", re.IGNORECASE)
_IN_DOCUMENT = re.compile(
    r"\s+(?:in|from|of|within|across|mentioned in|listed in)\s+(?:all |any |each |every )?"
    r"(?:my|the|this|that|these|those|our|all)?\s*(?:documents?|files?|papers?|reports?|texts?|collections?"
    r"|library|filings?|notes?|attachments?|pdfs?|pages?|books?|articles?)\s*$"
    r"|^(?:이|그|내|제|모든)?\s*(?:문서|파일|자료|보고서|논문)(?:들)?(?:에서|에|의|에 있는|에 나오는)\s*"
    r"|^(?:この|その|私の|すべての)?(?:文書|ファイル|資料|報告書|論文|ドキュメント)(?:の中)?(?:から|に(?:ある|出てくる|含まれる)?|の|で)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class WholeQuestion:
    """Question about all of its scope; `subject` is the thing that it asks to list or to tell about.

    `document_ids` are the documents it calls by name; None where it calls none. `counted` is true of "how
    many": its answer may also be one number that some passage states. `limited` is true where some of the
    kind are to be counted, which a list of all does not tell: "How many meals were served in spring?"
    """

    kind: Kind
    subject: str = ""
    document_ids: frozenset[str] | None = None
    counted: bool = False
    limited: bool = False


def read_whole_question(question: str, documents: Sequence[DocumentProfile]) -> WholeQuestion | None:
    """Return how a question asks about whole documents; None for a question that a passage answers.

    >>> [read_whole_question(text, ()) for text in ("Summarise this document.", "When did it open?")]
    [WholeQuestion(kind='overview', subject='', document_ids=None, counted=False, limited=False), None]
    >>> read_whole_question("List all suppliers in my documents.", ()).subject
    'suppliers'
    """
    text = unicodedata.normalize("NFKC", question).strip()
    called = documents_called(text, documents)
    ids = frozenset(one.id for one in called) or None
    left = _without_names(text, called)
    if _AUTHOR.search(text) and (ids or len(documents) == 1):
        return WholeQuestion("author", "", ids)
    if ids:
        left = _ABOUT.sub("about the document", left)
    if asks_for_overview(left):
        return WholeQuestion("overview", "", ids)
    kinds: tuple[tuple[Kind, tuple[re.Pattern[str], ...]], ...] = (
        ("documents", _DOCUMENTS),
        ("list", _LIST),
        ("topic", _TOPIC),
    )
    for kind, patterns in kinds:
        of = text if kind == "documents" else left
        subject, counted, limited = _subject(of, patterns)
        if subject:
            if kind != "documents":
                subject = _IN_DOCUMENT.sub("", subject).strip()
            if frozenset(tokens(subject)) - _CONTAINERS:
                return WholeQuestion(kind, subject, None if kind == "documents" else ids, counted, limited)
    return None


def whole_readings(question: str, documents: Sequence[DocumentProfile]) -> Iterator[WholeQuestion]:
    """Yield how a question may ask about whole documents, the likelier first.

    Things to be listed are looked for by all words of their name before some are taken for a document's.
    """
    read = read_whole_question(question, documents)
    as_written = read_whole_question(question, ()) if read is None or read.document_ids else None
    if as_written is not None and as_written.kind == "list" and as_written != read:
        yield as_written
    if read is not None:
        yield read


def documents_called(question: str, documents: Sequence[DocumentProfile]) -> list[DocumentProfile]:
    """Return the documents that a question calls by a word of their title, their file's name or a party.

    Only a word of few documents calls them; of several that are called, those that most words call.
    """
    asked = frozenset(tokens(question)) - _CONTAINERS
    called = {one.id: asked & one.title_words for one in documents}
    used = Counter(word for words in called.values() for word in words)
    rare = max(1, min(MOST_CALLED, len(documents) // 2))
    names = {word for word in used if used[word] <= rare}
    counted = {id_: len(words & names) for id_, words in called.items()}
    most = max(counted.values(), default=0)
    return [one for one in documents if most and counted[one.id] == most]


def _without_names(question: str, called: Sequence[DocumentProfile]) -> str:
    named = frozenset[str]().union(*(one.title_words for one in called)) - _CONTAINERS
    if not named:
        return question

    def kept(match: re.Match[str]) -> str:
        own = frozenset(tokens(match[0]))
        return "" if own and own <= named and match[0].casefold() not in STOP_WORDS["en"] else match[0]

    left = re.sub(r"[A-Za-z0-9가-힣一-鿿ァ-ヺー]+(?:['’]s\b)?", kept, question)
    return " ".join(left.split())


def _subject(question: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, bool, bool]:
    """Return the subject of a question, and whether it asks for their number, and for that of some."""
    for pattern in patterns:
        if found := pattern.match(question):
            parts = {name: part for name, part in found.groupdict().items() if part}
            told = _IN_DOCUMENT.sub("", parts.pop("rest", "").rstrip(" ?.!"))
            rest = frozenset(tokens(told)) - STOP_WORDS["en"] - _LISTED - _CONTAINERS
            name, part = next(iter(parts.items()), ("", ""))
            return part.strip(" \"'“”‘’「」『』"), name == "counted", bool(rest)
    return "", False, False
