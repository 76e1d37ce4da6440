"""Language detection by script and stop words, stop words, and Korean particles."""

import re
from collections import Counter
from collections.abc import Iterable


def words_of(text: str) -> frozenset[str]:
    """Return the words of a list written as text."""
    return frozenset(text.split())


# A quarter of running text; they show its language.
STOP_WORDS: dict[str, frozenset[str]] = {
    "en": words_of(
        """
        a about above after again against all also am an and any are as at be because been before
        being below between both but by can could d did do does doing down during each few for
        from further had has have having he her here hers him himself his how i if in into is it
        its itself just ll m me might more most must my myself no nor not now of off on once only
        or other our ours out over own re s same shall she should so some such t than that the
        their theirs them then there these they this those through to too under until up upon us
        ve very was we were what when where which while who whom whose why will with would you
        your yours
        """
    ),
    "de": words_of(
        """
        aber als also am an auch auf aus bei bin bis das dass dem den der des dessen die dies
        diese diesem diesen dieser dieses doch durch ein eine einem einen einer eines er es für
        hat hatte ich ihr ihre im in ist ja kann man mit nach nicht noch nur ob oder ohne sein
        seine sich sie sind so um und uns unter vom von vor war waren was wenn wer werden wie wird
        wir wo zu zum zur über
        """
    ),
    "fr": words_of(
        """
        à au aux avec c ce ces cette comme d dans de des donc du elle elles en est et était été
        eux il ils j je l la le les leur leurs lui m mais me même mes n ne nous on ont ou où par
        pas plus pour qu que quel quelle qui s sa sans se ses si son sont sur t te toi tu un une
        vous y
        """
    ),
    "es": words_of(
        """
        a al como con cual cuando cuál cuándo cómo de del desde donde dónde e el ella ellos en
        entre era es esta este esto está fue ha han hasta la las le les lo los me mi más muy no
        nos o para pero por porque que quien quién qué se ser si sin sobre son su sus también te
        tiene un una uno y ya
        """
    ),
    "it": words_of(
        """
        a ad ai al alla alle anche che chi ci come con cosa così da dal dalla dei del della delle
        dello di dove e ed era gli ha hanno i il in io l la le lo loro ma mi nei nel nella non o
        per perché più quale quando quello questa questo se si sono stata stato su sua sul sulla
        suo tra un una uno è
        """
    ),
    "pt": words_of(
        """
        a ao aos as até com como da das de do dos e ela ele em entre era essa esse esta este eu
        foi foram há isso já lhe mais mas me mesmo muito na nas no nos não nós o os ou para pela
        pelo por qual quando que quem se sem ser seu sua são só também tem um uma você à às é
        """
    ),
    "nl": words_of(
        """
        aan al als bij dan dat de der deze die dit door een en er ge had heb hebben heeft het hij
        hoe hun ik in is je kan maar me meer men met mijn naar niet nog nu of om ons ook op over
        te tot u uit van veel voor waar was wat we wel werd wie wij wordt zal ze zich zij zijn zo
        zou
        """
    ),
    "sv": words_of(
        """
        alla att av blev bli den denna det detta där de dem du då efter eller en ett från för ha
        hade han har hon hur i in inte jag kan man med men mot mycket när nu och om på sedan sig
        sin som till under upp ut vad var vi vid vilka vilken är över
        """
    ),
    "ru": words_of(
        """
        а без бы был была были было быть в вам вас во вот все вы где для до его ее если есть еще
        же за и из или им их к как какой когда кто ли мне мы на над не него нее нет но о об от по
        под при с так также там то того тоже только ты у уже чем что чтобы эта эти это этот я
        """
    ),
}

KOREAN_PARTICLES = sorted(
    words_of(
        """
        에서부터 으로부터 에서는 에게서 이라는 이라고 라는 라고 에는 에서 에게 한테 께서 부터 까지
        으로 처럼 보다 마다 조차 이나 이며 이고 이자 이었 이다 이란 와의
        과의 에의 란 은 는 이 가 을 를 의 에 와 과 로 도 만 나
        """
    ),
    key=lambda particle: (-len(particle), particle),
)
"""Endings that a Korean noun takes, the longer first, those of the verb "to be" (이다) among them."""

# Checked in this order: Japanese mixes Kana with Han, Korean sometimes Hangul with Han.
_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ko", re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")),
    ("ja", re.compile("[\u3041-\u30ff\uff66-\uff9f]")),
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
)
_HIRAGANA = re.compile("[\u3041-\u3096]")
_WORD = re.compile(r"[^\W\d_]+")
_PARTICLE = re.compile(rf"(?:{'|'.join(KOREAN_PARTICLES)})\Z")
_SAMPLE = 2000  # characters: enough to be sure of the language, few enough to cost nothing
_LATIN = tuple(language for language in STOP_WORDS if language != "ru")
_LANGUAGES_OF = {
    word: [code for code in _LATIN if word in STOP_WORDS[code]]
    for word in frozenset().union(*(STOP_WORDS[code] for code in _LATIN))
}


def language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language, judged by its first 2,000 characters.

    The script decides where it can, frequent words where it cannot; a text that shows neither
    counts as English. A script counts once it makes up a fifth of the text, since a character of
    Korean or Japanese weighs about as much as a word: ``"Streamlit에서 PDF 열기" -> "ko"``.
    """
    return _script_language(text[:_SAMPLE]) or latin_language(text)


def answer_language(question: str, passages: Iterable[str]) -> str:
    """Return the ISO 639-1 code of the language in which a question is to be answered from passages.

    That is the question's own. One that shows none, such as a name, is answered in that of most passages;
    one in Han characters alone is Japanese where passages are.

    >>> passages = ["育児休業は一年とする。"]
    >>> answer_language("育児休業", passages), answer_language("ABC?", passages)
    ('ja', 'ja')
    >>> answer_language("What is ABC?", passages), answer_language("育児休業", ["It is a year."])
    ('en', 'zh')
    """
    own = _script_language(question[:_SAMPLE])
    if (own and own != "zh") or any(_latin_counts(question).values()):
        return own or latin_language(question)
    found = Counter(map(language, passages))
    if own == "zh":
        return "ja" if "ja" in found else own
    return max(found, key=lambda code: found[code], default="en")


def shows_language(text: str) -> bool:
    """Return True where the script or the frequent words of a text show its language.

    >>> shows_language("그 다음은?"), shows_language("And then?"), shows_language("FY2024?")
    (True, True, False)
    """
    return bool(_script_language(text[:_SAMPLE])) or any(_latin_counts(text).values())


def _script_language(sample: str) -> str:
    """Return the language that the script of a text shows; empty where it has that of many.

    Chinese has no Hiragana: a Japanese question may have little of it.

    >>> _script_language("遅延損害金は何%?"), _script_language("違約金是多少?")
    ('ja', 'zh')
    """
    if sample.isascii():
        return ""
    letters = sum(map(len, _WORD.findall(sample)))
    code = next((code for code, script in _SCRIPTS if len(script.findall(sample)) * 5 > letters), "")
    return "ja" if code == "zh" and len(_HIRAGANA.findall(sample)) * 10 > letters else code


def may_share_words(text: str, other: str) -> bool:
    """Return True where two texts may be in the same language.

    A table or a list in Japanese often has no Kana, and so seems Chinese.

    >>> may_share_words("賃料はいくらですか", "| 日付 | 担当 |"), may_share_words("When?", "언제?")
    (True, False)
    """
    codes = {language(text), language(other)}
    return len(codes) == 1 or codes == {"ja", "zh"}


def latin_language(text: str) -> str:
    """Return the language of the Latin-script words of a text by their stop words; English in doubt.

    >>> latin_language("¿Cuándo murió el rey de España?")
    'es'
    """
    counts = _latin_counts(text)
    return max(_LATIN, key=lambda code: (counts[code], code == "en"))


def _latin_counts(text: str) -> Counter[str]:
    """Return how many words of a text are stop words of each language."""
    words = (word.lower() for word in _WORD.findall(text[:_SAMPLE]))
    return Counter(code for word in words for code in _LANGUAGES_OF.get(word, ()))


def without_particle(word: str) -> str:
    """Return a Korean word without the particle at its end.

    >>> without_particle("파리에서"), without_particle("수도는"), without_particle("Curie는")
    ('파리', '수도', 'Curie')
    """
    return _PARTICLE.sub("", word)
