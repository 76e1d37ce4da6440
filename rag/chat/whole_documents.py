"""Questions about whole documents, recognised by rule, and their answers without and with a model.

They ask for overviews, topics, lists and authors. The patterns are data, one set a language. What names
documents in a question is left out before it is matched: "What is the AutoGen paper about?" asks for an
overview.

Without a model the answers are quotes. A model reads as much of the documents as the question needs:

| scope | overview | list, count, mentions |
|---|---|---|
| its text fits into the prompt | the whole text | one batch |
| a summary tree is built | the tree's passages and summaries | |
| few requests, or all was asked for | all batches, then an answer from the notes | all batches |
| else | the most central passages | what code finds in all passages |

Where not all was read, reading all is offered with its cost.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from langchain_core.embeddings import Embeddings

from rag.chat.answer import Event, Prompt, Sources, generated, longest_answer, written
from rag.chat.extractive import AnswerPart, header_above, write
from rag.chat.map_reduce import (
    AROUND,
    ITEMS,
    MOST_REQUESTS,
    REQUESTS,
    BatchRead,
    BatchReader,
    Coverage,
    NoteKind,
    ReadingPlan,
    batch_tokens,
    coverage_of,
    plan_reading,
    reduce_messages,
    share_passages,
    split_batches,
    spread,
)
from rag.chat.scope import NarrowedTo, SearchedIn
from rag.citations.checker import Judge
from rag.citations.support import Citation
from rag.ingest.document_facts import DocumentProfile
from rag.jobs import Cancel, never
from rag.models.protocol import LanguageModel
from rag.passage import Passage
from rag.retrieval.degradation import Degraded
from rag.retrieval.items import NamedItem, count_is_stated, find_items, find_mentions
from rag.retrieval.measured_rows import bounded_rows, bounds_in
from rag.retrieval.overview import central_sentences, section_called, section_on
from rag.retrieval.question_type import asks_for_overview
from rag.retrieval.row_filter import rows_with_values
from rag.retrieval.sentences import Pick
from rag.retrieval.summary import summarise
from rag.text.language import STOP_WORDS, answer_language, language
from rag.text.markdown import TableRow, read_tables, rows, table_head, table_row
from rag.text.markers import inert
from rag.text.prompt_parts import count_fitting, count_tokens, fenced
from rag.text.sentences import sentences
from rag.text.tokenize import tokens

Kind = Literal["overview", "topic", "list", "documents", "author", "rows"]
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
        r"|deal with|cover|includ|about|describ|say something about|have)\w*"
        r"\s+(?:the (?:words?|terms?|names?)\s+)?(?P<subject>.{2,120}?)\s*\??$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:in |by )?(?:which|what|how many) (?:of (?:my|the) )?"
        r"(?:documents?|files?|papers?|reports?|contracts?|notes?)"
        r"\s+(?:is|are|was|were|does|do)\s+(?P<subject>.{2,120}?)\s+"
        r"(?:mentioned|named|described|discussed|covered|contained|appear|occur|stand)\w*(?: in| on)?\s*\??$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:어떤|어느|무슨|몇 개의)\s*(?:문서|파일|자료|보고서|계약서)(?:들)?(?:에서?|이|가)?\s+"
        r"(?P<subject>.{1,60}?)(?:을|를|이|가|은|는|에 대해|에 관해)?\s*"
        r"(?:언급|나오|나옵|나와|들어\s?있|포함|다루|다룹|적혀|쓰여)\S*(?:\s있\S*)?\s*$"
    ),
    re.compile(
        r"^(?P<subject>.{1,60}?)(?:을|를|이|가|에 대해|에 관해|에 대한|에 관한|이라는 말이)?\s*"
        r"(?:언급(?:하는|한|된)|다루는|다룬|포함(?:하는|된|한)|나오는|들어\s?있는|설명하는|있는|관한|대한)\s*"
        r"(?:모든\s*)?(?:문서|파일|자료|보고서)(?:는|은|를|을|가|이)?\s*(?:모두|전부)?\s*"
        r"(?:무엇|뭐|어떤|몇|어느|알려|보여|나열|찾아|목록|\?|$).*$"
    ),
    re.compile(
        r"^(?P<subject>.{1,60}?)(?:に(?:ついて|関して)?|を|が|の)?\s*"
        r"(?:言及(?:している|する|した)|述べている|触れている|扱っている|扱う|含む|含まれる|説明している|出てくる|載っている|書かれている|書かれた|書いてある|ある|関する)"
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
        r"|^all (?:the |of the |my )?(?P<bare>.{2,100}?)[.?!]*$"
        r"|^(?:what|which)\s+(?P<there>.{2,60}?)\s+(?:are there|exist|(?:do|did) (?:we|i|you|they) have"
        r"|are (?:named|mentioned|listed))\b.{0,40}$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:모든\s+(?P<subject>.{1,50}?)(?:을|를|은|는|이|가)?|(?P<listed>.{1,50}?)(?:을|를|은|는|이|가)?\s*(?:모두|전부|다|목록을?))\s*"
        r"(?:나열|열거|알려|보여|찾아|정리|말해|적어|뽑아|무엇|뭐)\S*.{0,12}$"
        r"|^(?P<bare>.{1,50}?)(?:을|를|은|는|이|가)?\s+(?:모두|전부|목록)[은는]?요?[\s?.!]*$"
        r"|^(?P<counted>.{1,50}?)(?:은|는|이|가)?\s*(?:모두|전부|총)?\s*몇\s*(?:개|가지|건|명|곳|편|장|번|종|단계|항목)"
        r"\s*(?:이|가|나)?\s*(?:인|입|있|이[에죠지]|예|야|나오|언급|되|돼|[?？]|$).{0,12}$"
    ),
    re.compile(
        r"^(?:すべての|全ての|全)(?P<subject>.{1,50}?)を?(?:列挙|挙げ|教え|リスト|示し|一覧|書き出|まとめ).{0,15}$"
        r"|^(?P<listed>.{1,50}?)を?(?:すべて|全て|全部|一覧で|もれなく)(?:列挙|挙げ|教え|リスト|一覧|示し|見せ|書き出|並べ|まとめ).{0,15}$"
        r"|^(?P<bare>.{1,50}?)(?:を|は|の)?(?:すべて|全て|全部|一覧)[?？。]*$"
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
        " note page pages section sections pdf article here there these this that mentioned listed",
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
    many": its answer may also be one number that some passage states. With a `condition` some of the kind are
    to be counted, which a list of all does not tell: "How many meals were served in spring?"
    """

    kind: Kind
    subject: str = ""
    document_ids: frozenset[str] | None = None
    counted: bool = False
    condition: str = ""


def read_whole_question(question: str, documents: Sequence[DocumentProfile]) -> WholeQuestion | None:
    """Return how a question asks about whole documents; None for a question that a passage answers.

    >>> [read_whole_question(text, ()) for text in ("Summarise this document.", "When did it open?")]
    [WholeQuestion(kind='overview', subject='', document_ids=None, counted=False, condition=''), None]
    >>> read_whole_question("List all suppliers in my documents.", ()).subject
    'suppliers'

    A question for the documents that name something is about all, whatever their titles have of its words.
    """
    text = unicodedata.normalize("NFKC", question).strip()
    subject, counted, condition = _subject(text, _DOCUMENTS)
    if frozenset(tokens(subject)) - _CONTAINERS:
        return WholeQuestion("documents", subject, None, counted, condition)
    called = documents_called(text, documents)
    ids = frozenset(one.id for one in called) or None
    left = _without_names(text, called)
    if _AUTHOR.search(text) and (ids or len(documents) == 1):
        return WholeQuestion("author", "", ids)
    if ids:
        left = _ABOUT.sub("about the document", left)
    if asks_for_overview(left):
        return WholeQuestion("overview", "", ids)
    kinds: tuple[tuple[Kind, tuple[re.Pattern[str], ...]], ...] = (("list", _LIST), ("topic", _TOPIC))
    for kind, patterns in kinds:
        subject, counted, condition = _subject(left, patterns)
        subject = _IN_DOCUMENT.sub("", subject).strip()
        if frozenset(tokens(subject)) - _CONTAINERS:
            return WholeQuestion(kind, subject, ids, counted, condition)
    return None


def whole_readings(question: str, documents: Sequence[DocumentProfile]) -> Iterator[WholeQuestion]:
    """Yield how a question may ask about whole documents, the likelier first.

    Rows with a number within bounds come first. Things to be listed are looked for by all words of their name
    before some are taken for a document's.
    """
    if bounds_in(question)[0]:
        yield WholeQuestion("rows")
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


def _subject(question: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, bool, str]:
    """Return the subject of a question, whether it asks for their number, and the condition for some."""
    for pattern in patterns:
        if found := pattern.match(question):
            parts = {name: part for name, part in found.groupdict().items() if part}
            told = _IN_DOCUMENT.sub("", parts.pop("rest", "").rstrip(" ?.!"))
            rest = frozenset(tokens(told)) - STOP_WORDS["en"] - _LISTED - _CONTAINERS
            name, part = next(iter(parts.items()), ("", ""))
            return part.strip(" \"'“”‘’「」『』"), name == "counted", told.strip() if rest else ""
    return "", False, ""


MOST_ITEMS = 200  # items that are listed; the others are counted
LEAST_SECTION = 2  # passages of a section that is told about as a whole
_FOUND = {
    "list": {
        "en": "**{count:,} found:**",
        "ko": "**{count:,}개를 찾았습니다:**",
        "ja": "**{count:,}件見つかりました:**",
    },
    "documents": {
        "en": "**{count:,} of {total:,} documents:**",
        "ko": "**문서 {total:,}개 중 {count:,}개:**",
        "ja": "**文書{total:,}件のうち{count:,}件:**",
    },
}
_MORE = {"en": "and {count:,} more", "ko": "외 {count:,}개", "ja": "ほか{count:,}件"}
_PROPERTY = {
    "en": "The file's properties name {names} as its author; its text names none.",
    "ko": "파일 속성에는 작성자가 {names}(으)로 되어 있고, 본문에는 저자 이름이 없습니다.",
    "ja": "ファイルのプロパティでは作成者は{names}ですが、本文に著者名はありません。",
}


@dataclass(frozen=True)
class WholeAnswer:
    """Parts of an answer about a whole scope, and the passages that their markers count in."""

    passages: tuple[Passage, ...]
    parts: tuple[AnswerPart, ...]


def answer_whole(
    question: str,
    asked: WholeQuestion,
    passages: Sequence[Passage],
    documents: Mapping[str, DocumentProfile],
) -> WholeAnswer | None:
    """Return the answer to a question about all of `passages`; None where nothing in them answers it so."""
    if asked.kind == "rows":
        return list_items(question, "list", bounded_rows(question, passages), passages, len(passages))
    if asked.kind == "list" and (picked_out := rows_with_values(asked.subject, asked.condition, passages)):
        return list_items(question, "list", picked_out, passages, len(passages))
    if asked.condition or (asked.counted and count_is_stated(question, asked.subject, passages)):
        return None
    if asked.kind == "overview":
        called = [passages[at] for at in section_called(question, passages)]
        return _picked(question, called or passages, summarise(called or passages))
    if asked.kind == "topic":
        places = section_on(asked.subject, passages)
        section = [passages[at] for at in places]
        return None if len(section) < LEAST_SECTION else _picked(question, section, summarise(section))
    if asked.kind == "author":
        return _authors(question, passages, documents)
    if asked.kind == "documents":
        total = len({passage.document_id for passage in passages})
        return list_items(question, "documents", find_mentions(asked.subject, passages), passages, total)
    return list_items(question, "list", _items(asked.subject, passages), passages, len(passages))


_KINDS = re.compile(
    r"^(?:(?:different|various) )?(?:kind|type|sort|categor)(?:s|ies|y)? of |의?\s?종류$|の種類$",
    re.IGNORECASE,
)


def _items(subject: str, passages: Sequence[Passage]) -> list[NamedItem]:
    """Return the items of a kind; "kinds of leave" are the kinds of leave that there are.

    Where a sentence tells of the kinds in these words, it is searched for.
    """
    found, bare = find_items(subject, passages), _KINDS.sub("", subject)
    if found or not bare or bare == subject:
        return found
    wanted = frozenset(tokens(subject))
    told = (one.text[start:end] for one in passages for start, end in sentences(one.text))
    return [] if any(wanted <= frozenset(tokens(text)) for text in told) else find_items(bare, passages)


def _picked(question: str, passages: Sequence[Passage], picks: Sequence[Pick]) -> WholeAnswer | None:
    if not picks:
        return None
    order = list(dict.fromkeys(pick.number for pick in picks))
    shown = tuple(passages[number - 1] for number in order)
    numbered = [replace(pick, number=order.index(pick.number) + 1) for pick in picks]
    return WholeAnswer(shown, tuple(write(question, shown, numbered, doubtful=False)))


def list_items(
    question: str, kind: str, items: Sequence[NamedItem], passages: Sequence[Passage], total: int
) -> WholeAnswer | None:
    """Return the list of items with their number, each cited; None where there is none."""
    if not items:
        return None
    code = answer_language(question, (one.text for one in passages))
    shown = items[:MOST_ITEMS]
    order = list(dict.fromkeys(item.number for item in shown))
    numbers = {number: place for place, number in enumerate(order, 1)}
    lead = _FOUND[kind].get(code, _FOUND[kind]["en"]).format(count=len(items), total=total)
    parts, length = [AnswerPart(lead)], len(lead)
    for told, item in _lines(shown, passages, numbers, kind):
        start, length = length + len(told) - len(told.lstrip("\n")), length + len(told)
        passage = passages[item.number - 1] if item else None
        cited = _cited(item, passage, numbers[item.number], start, length) if item and passage else None
        parts.append(AnswerPart(told, cited))
    if more := len(items) - len(shown):
        parts.append(AnswerPart("\n\n" + _MORE.get(code, _MORE["en"]).format(count=more)))
    return WholeAnswer(tuple(passages[number - 1] for number in order), tuple(parts))


def _cited(item: NamedItem, passage: Passage, number: int, start: int, end: int) -> Citation:
    quote = passage.text[item.start : item.end]
    at = (passage.start + item.start, passage.start + item.end)
    return Citation(number, start, end, "verified", *at, quote)


def _lines(
    items: Sequence[NamedItem], passages: Sequence[Passage], numbers: Mapping[int, int], kind: str
) -> Iterator[tuple[str, NamedItem | None]]:
    """Yield the lines of a list, each with its item: rows under the header of their table, else bullets."""
    above: Sequence[str] | None = None
    for item in items:
        passage = passages[item.number - 1]
        row = _row_of(item, passage)
        header = (header_above(passage, item.start) or [""] * len(row[0].cells)) if row else ()
        if row and header != above:
            yield "\n\n" + table_head([inert(cell) for cell in header]), None
        gap = "\n" if row or header == above else "\n\n"
        yield gap + _told(item, passage, kind, row, numbers[item.number]), item
        above = header


def _row_of(item: NamedItem, passage: Passage) -> tuple[TableRow, int] | None:
    """Return the row that an item stands for, and its column; None for one that other rows name, too."""
    row = next(rows(passage.text, item.start, item.end), None)
    if row is None or row.start != item.start or len(row.cells) < 2 or item.name not in row.cells:
        return None
    column = row.cells.index(item.name)
    table = next((one for one in read_tables(passage.text) if one.start <= row.start < one.end), None)
    others = table.rows if table else tuple(rows(passage.text, 0, len(passage.text)))
    named = [other.cells[column] for other in others if column < len(other.cells)]
    return (row, column) if len(named) == len(frozenset(named)) else None


def _told(item: NamedItem, passage: Passage, kind: str, row: tuple[TableRow, int] | None, number: int) -> str:
    """Return the line of an item with its marker; the whole row where it stands for one."""
    if row is None:
        return f"- {_line(item, passage, kind)} [{number}]"
    cells, column = [inert(cell) for cell in row[0].cells], row[1]
    cells[column] = f"{cells[column]} [{number}]"
    return table_row(cells)


def _line(item: NamedItem, passage: Passage, kind: str) -> str:
    name = " ".join(inert(item.name).split())
    if kind == "documents":
        return f"{name}: {' '.join(inert(passage.text[item.start : item.end]).split())[:300]}"
    return name


def _authors(
    question: str, passages: Sequence[Passage], documents: Mapping[str, DocumentProfile]
) -> WholeAnswer | None:
    """Return the line that names the authors; without one, those of the file's properties, uncited."""
    facts = [(id_, fact) for id_, one in documents.items() for fact in one.facts if fact.kind == "author"]
    written = [(id_, fact.start, fact.end or 0) for id_, fact in facts if fact.start is not None]
    picks = list(_author_picks(written, passages))
    if picks:
        return _picked(question, passages, picks)
    if not facts:
        return None
    names = ", ".join(dict.fromkeys(inert(fact.value) for _, fact in facts))
    told = _PROPERTY.get(language(question), _PROPERTY["en"]).format(names=names)
    return WholeAnswer((), (AnswerPart(told),))


def _author_picks(written: Sequence[tuple[str, int, int]], passages: Sequence[Passage]) -> Iterator[Pick]:
    """Yield, for each document, the span from its first to its last author in the passage with the first."""
    for id_ in dict.fromkeys(one for one, _, _ in written):
        spans = [(start, end) for one, start, end in written if one == id_]
        for number, passage in enumerate(passages, 1):
            inside = [
                (a - passage.start, b - passage.start)
                for a, b in spans
                if passage.document_id == id_ and passage.start <= a and b <= passage.end
            ]
            if inside:
                first, last = min(inside)[0], max(b for _, b in inside)
                yield Pick(number, first, last, 1.0, first, last)
                break


PURPOSE = "read"
"""Purpose of the requests that read a batch."""
WHOLE = 60  # passages of a text that is put into the prompt whole
CENTRAL = 40  # sentences whose passages stand for a scope that is not read whole
Reading = Event | Coverage | SearchedIn | NarrowedTo | Degraded | ReadingPlan | BatchRead
Outcome = Literal["answered", "unread", "nothing"]
"""Answered; to be searched instead; or all was read, and nothing asked for is named in it."""


@dataclass(frozen=True)
class Budget:
    """Requests that reading a scope may take: `free` begin without being asked for, `most` in all."""

    free: int = REQUESTS
    most: int = MOST_REQUESTS
    all: bool = False
    """True where the asker has asked to read all."""

    def allows(self, requests: int) -> bool:
        """Return True where so many requests may begin."""
        return requests <= (self.most if self.all else self.free)


BUDGET = Budget()


@dataclass(frozen=True)
class WholeReading:
    """Reading of all `passages` of some documents for one question.

    `reader` is the model that reads the batches. `write` answers from passages, `tree` finds those of a
    summary tree where one is built. `scope` are the events that say where is read. To read all is not offered
    where there are no more passages than a search gives, `searched`.
    """

    question: str
    asked: WholeQuestion
    passages: Sequence[Passage]
    documents: Mapping[str, DocumentProfile]
    llm: LanguageModel
    reader: LanguageModel
    write: Callable[[Sequence[Passage]], Iterator[Event]]
    tree: Callable[[str], Sequence[Passage]] | None = None
    budget: Budget = BUDGET
    embedder: Embeddings | None = None
    judge: Judge | None = None
    instructions: str = ""
    scope: Sequence[SearchedIn | NarrowedTo] = ()
    searched: int = 0
    cancelled: Cancel = never

    def events(self) -> Generator[Reading, None, Outcome]:
        """Yield the events of an answer; return what came of it. Raises LLMError and Cancelled."""
        if self.asked.kind == "overview":
            yield from self._overview()
            return "answered"
        return (yield from self._list())

    def _overview(self) -> Iterator[Reading]:
        batches = self._batches()
        if self._fits():
            yield from self._written(self.passages)
        elif self.tree is not None and not self.budget.all and (leaves := self.tree(self.question)):
            yield plan_reading(self.passages, batches, begun=False)
            yield from self._covered(_holding(leaves, self.passages))
            yield from self.write(leaves)
        elif self.budget.allows(len(batches) + 1):
            yield from self._from_notes(batches)
        else:
            yield plan_reading(self.passages, batches, begun=False)
            yield from self._written(self._central())

    def _list(self) -> Generator[Reading, None, Outcome]:
        batches = self._batches()
        counted = self.asked.counted and not find_items(self.asked.subject, self.passages)
        if self.budget.allows(len(batches)) and (self.budget.all or not counted):
            kind, locate = ITEMS[self.asked.kind]
            reader = yield from self._read(kind, batches)
            notes = [note for batch in reader.notes for note in batch]
            items = locate(notes, self.passages)
            total = len(self.documents) if self.asked.kind == "documents" else len(items)
            found = list_items(self.question, self.asked.kind, items, self.passages, total)
            read = [self.passages[at] for at in reader.read]
            if found is None:
                yield coverage_of(read, self.passages)
                return "nothing"
            yield from self._covered(read)
            yield from self._told(found, self.llm.settings.model)
            return "answered"
        if len(self.passages) > self.searched:
            yield plan_reading(self.passages, batches, begun=False)
        listed = answer_whole(self.question, self.asked, self.passages, self.documents)
        if listed is None:
            return "unread"
        yield from self._covered(self.passages)
        yield from self._told(listed, None)
        return "answered"

    def _batches(self) -> list[range]:
        return spread(split_batches(self.passages, batch_tokens(self.llm.settings)), self.budget.most)

    @property
    def _room(self) -> int:
        """Tokens that passages may have in one prompt, beside a quarter for the conversation."""
        context = self.llm.settings.context_tokens
        return context - longest_answer(self.llm) - context // 4 - AROUND - count_tokens(self.instructions)

    def _fits(self) -> bool:
        return len(self.passages) <= WHOLE and sum(map(_size, self.passages)) <= self._room

    def _central(self) -> list[Passage]:
        """Return the passages of the most central sentences, in order, as many as a prompt has room for."""
        numbers = dict.fromkeys(pick.number for pick in central_sentences(self.passages, CENTRAL))
        central = [self.passages[number - 1] for number in numbers] or list(self.passages)
        most = count_fitting(map(fenced, range(len(central)), central), self._room, between=2)
        return sorted(central[:most], key=self.passages.index)

    def _read(self, kind: NoteKind, batches: Sequence[range]) -> Generator[Reading, None, BatchReader]:
        yield plan_reading(self.passages, batches, begun=True)
        reader = BatchReader(self.reader, kind, self.question, self.cancelled)
        yield from reader.run(self.passages, batches)
        if reader.failure is not None:
            yield Degraded("passages", str(reader.failure))
        return reader

    def _from_notes(self, batches: Sequence[range]) -> Iterator[Reading]:
        reader = yield from self._read("points", batches)
        yield from self._covered([self.passages[at] for at in reader.read])
        context = self.llm.settings.context_tokens
        room = context - longest_answer(self.llm) - AROUND - count_tokens(self.question + self.instructions)
        notes, order = share_passages(reader.fitting(room))
        if not notes:
            yield from self.write(self._central())
            return
        given = tuple(self.passages[number - 1] for number in order)
        prompt = Prompt(
            given, reduce_messages(self.question, notes, self.instructions), question=self.question
        )
        yield from generated(prompt, self.llm, self.embedder, self.judge, "", self.cancelled)

    def _written(self, passages: Sequence[Passage]) -> Iterator[Reading]:
        yield from self._covered(passages)
        yield from self.write(passages)

    def _covered(self, read: Sequence[Passage]) -> Iterator[Reading]:
        yield from self.scope
        yield coverage_of(read, self.passages)

    def _told(self, found: WholeAnswer, model: str | None) -> Iterator[Event]:
        yield Sources(found.passages)
        yield from written(found.parts, self.cancelled, model)


def _size(passage: Passage) -> int:
    return count_tokens(fenced(100, passage)) + 2


def _holding(leaves: Sequence[Passage], passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages that some leaf of a summary tree lies in."""
    of: dict[str, list[Passage]] = {}
    for leaf in leaves:
        of.setdefault(leaf.document_id, []).append(leaf)
    return [
        one
        for one in passages
        if any(leaf.start < one.end and one.start < leaf.end for leaf in of.get(one.document_id, ()))
    ]
