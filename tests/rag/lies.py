# ruff: noqa: E501
"""Made claims about made passages, each with whether its passage backs it."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.text.sentences import sentences

PASSAGES = {
    "en": [
        "The Alder Bridge crosses the Mossel river. It was designed by Ruth Hadley and opened on 4 May 1932. "
        "The bridge carries 48,500 vehicles a day, which is 12.5% more than in 2010. "
        "Lorries over 30 tonnes are not allowed to use it. Repairs were financed by the city of Denholm in 2019.",
        "The Harlow Mill museum was founded by Peter Lindqvist in 1968. It displays 1,240 looms that were built "
        "in Saxony before 1900. The official guide is printed by Oakfield Press in five languages. "
        "Visitors from Norway are admitted free on 17 days of the year. The museum was closed for 8 months after a flood.",
        "Kestrel Foods reported revenue of $312 million for the third quarter of 2021. The figure was 7% higher than "
        "in the previous quarter. Chief executive Maria Stanton said that the plant in Ghent had been expanded. "
        "The company will not pay a dividend before 2023. Its largest customer is the retailer Bellweather.",
        "The northern reef was first mapped by Owen Tasker in 1874. Its coral grows about 14 millimetres in a year. "
        "Divers from the Marlow Institute counted 96 species of fish in 2016. The fishing of tuna is forbidden within "
        "3 kilometres of the reef. Officials in Port Albany publish the rules every spring.",
        "Firmware 4.2 was released by Nordlys Systems on 9 March 2022. It fixes 31 faults that were found by Elena Varga. "
        "The device must be switched off for 45 seconds before the update. Older models cannot be updated over Bluetooth. "
        "The final version is supported until 2027.",
    ],
    "ko": [
        "오리다리는 모셀강을 건넌다. 이 다리는 한지민이 설계했고 1932년 5월 4일에 개통되었다. "
        "하루에 차량 4만 8,500대가 오리다리를 지나간다. 30톤이 넘는 화물차는 통행할 수 없다. 2019년 수리비는 덴홈시가 부담하였다.",
        "하로 방직 박물관은 1968년에 박서준이 설립하였다. 이 박물관은 작센에서 만든 직기 1,240대를 전시한다. "
        "공식 안내서는 참나무출판사가 5개 언어로 인쇄한다. 노르웨이 관람객은 1년에 17일 동안 무료로 입장한다. 홍수 이후 8개월 동안 문을 닫았다.",
        "황조식품은 2021년 3분기에 매출 3,120억 원을 기록하였다. 이 수치는 전 분기보다 7% 높았다. "
        "최수영 대표는 겐트의 공장이 확장되었다고 말하였다. 이 회사는 2023년 전에는 배당금을 지급하지 않는다. 가장 큰 고객은 소매업체 벨웨더이다.",
        "북쪽 산호초는 1874년에 오웬이 처음으로 지도에 그렸다. 이 산호는 1년에 약 14밀리미터 자란다. "
        "말로 연구소의 잠수부들은 2016년에 물고기 96종을 확인하였다. 산호초에서 3킬로미터 안에서는 참치를 잡을 수 없다. 포트올버니의 공무원이 봄마다 규칙을 발표한다.",
    ],
    "ja": [
        "アルダー橋はモーゼル川に架かる。この橋は佐藤明が設計し、1932年5月4日に開通した。"
        "1日に4万8500台の車両がアルダー橋を通行する。30トンを超えるトラックは通行できない。2019年の修理費は川口市が負担した。",
        "ハーロウ織物博物館は1968年に高橋健が設立した。この博物館はザクセンで作られた織機1240台を展示する。"
        "公式の案内書は樫木出版が5か国語で印刷する。ノルウェーからの来館者は年に17日間無料で入館する。洪水の後、8か月間休館した。",
        "長元食品は2021年第3四半期に売上高312億円を記録した。この数値は前の四半期より7%高かった。"
        "鈴木花子社長はゲントの工場が拡張されたと述べた。同社は2023年まで配当を支払わない。最大の顧客は小売業者のベルウェザーである。",
        "北の珊瑚礁は1874年に中村透が初めて地図に描いた。この珊瑚は1年に約14ミリメートル成長する。"
        "マーロウ研究所の潜水士は2016年に魚96種を確認した。珊瑚礁から3キロメートル以内では鮪を捕ることができない。港町の役所が毎年春に規則を公表する。",
    ],
}
NAMES = {
    "en": r"(?<=[a-z] )[A-Z][a-z]+(?: [A-Z][a-z]+)*",
    "ko": r"(?:한지민|박서준|최수영|오웬|모셀강|작센|겐트|덴홈시|벨웨더|참나무출판사|포트올버니|노르웨이)",
    "ja": r"(?:佐藤明|高橋健|鈴木花子|中村透|川口市|樫木出版|[ァ-ヺー]{3,}(?=[川橋のかはが、]))",
}
INVENTED = {
    "en": ["{} received a national award for unusual design.", "Critics regard {} as the finest of its kind.",
           "{} was sold to an investor from Lisbon last spring.", "Tourists often complain about the noise at {}."],
    "ko": ["{}은 독특한 설계로 국가상을 받았다.", "비평가들은 {}을 최고의 사례라고 부른다.",
           "{}은 지난봄 리스본의 투자자에게 팔렸다.", "관광객들은 {}의 소음에 자주 불평한다."],
    "ja": ["{}は独特の設計で国の賞を受けた。", "評論家は{}を最も優れた例と呼ぶ。",
           "{}は昨春、リスボンの投資家に売却された。", "観光客は{}の騒音によく不満を言う。"],
}  # fmt: skip
_DENIALS = {
    "en": [(r"\bis\b(?! not)", "is not"), (r"\bwas\b", "was not"), (r"\bare not\b", "are"), (r"\bare\b", "are not"),
           (r"\bwill not\b", "will"), (r"\bcannot\b", "can"), (r"\bmust\b", "must not"), (r"\bhad\b", "had not"),
           (r"\b(crosses|carries|displays|grows|publish|fixes|reported|counted)\b", r"never \1")],
    "ko": [("하였다\\.", "하지 않았다."), ("수 없다\\.", "수 있다."), ("되었다\\.", "되지 않았다."), ("지 않는다\\.", "한다."),
           ("한다\\.", "하지 않는다."), ("건넌다\\.", "건너지 않는다."), ("자란다\\.", "자라지 않는다."), ("이다\\.", "이 아니다.")],
    "ja": [("できない。", "できる。"), ("わない。", "う。"), ("した。", "しなかった。"), ("する。", "しない。"),
           ("である。", "ではない。"), ("架かる。", "架からない。"), ("高かった。", "高くなかった。"), ("述べた。", "述べなかった。")],
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A claim about a passage: what was done to it, and whether the passage backs it."""

    kind: str
    language: str
    claim: str
    passage: str
    backed: bool


def cases() -> list[Case]:
    """Return all cases, the same at every call."""
    return [case for language in PASSAGES for case in _of(language, random.Random(7))]


def _of(language: str, chance: random.Random) -> Iterator[Case]:
    texts = PASSAGES[language]
    for at, text in enumerate(texts):
        other = texts[(at + 1) % len(texts)]
        for sentence in _sentences(text):
            yield Case("exact", language, sentence, text, True)
            yield Case("noise", language, sentence, text.replace(sentence, _noisy(sentence, language)), True)
            for kind, claim in _changed(sentence, text, other, language, chance):
                if claim not in text:
                    yield Case(kind, language, claim, text, False)
        for claim in _sentences(other):
            yield Case("wrong passage", language, claim, text, False)
        for template in INVENTED[language]:
            subject = (
                _sentences(text)[0].split(" ")[0]
                if language == "ko"
                else re.split(r"(?<=\w) (?=[a-z])|は", text)[0]
            )
            yield Case("invented", language, template.format(subject.rstrip("는은")), text, False)


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def _changed(
    sentence: str, text: str, other: str, language: str, chance: random.Random
) -> Iterator[tuple[str, str]]:
    yield from (("changed number", claim) for claim in _numbers(sentence, text, chance))
    yield from (("changed name", claim) for claim in _names(sentence, text, other, language, chance))
    for pattern, denial in _DENIALS[language]:
        if re.search(pattern, sentence):
            yield "negated", re.sub(pattern, denial, sentence, count=1)
            break
    for tail in chance.sample([end for end in (*_sentences(text), *_sentences(other)) if end != sentence], 2):
        yield "stitched", _half(sentence, language)[0] + _half(tail, language)[1]


def _numbers(sentence: str, text: str, chance: random.Random) -> Iterator[str]:
    for match in re.finditer(r"\d+", sentence):
        digit = chance.choice([digit for digit in "123456789" if digit not in match[0]])
        yield sentence[: match.start()] + digit + sentence[match.start() + 1 :]
        if others := [number for number in re.findall(r"\d+", text) if number not in sentence]:
            yield sentence[: match.start()] + chance.choice(others) + sentence[match.end() :]


def _names(sentence: str, text: str, other: str, language: str, chance: random.Random) -> Iterator[str]:
    for match in re.finditer(NAMES[language], sentence):
        for source in (text, other):
            if found := [name for name in re.findall(NAMES[language], source) if name not in sentence]:
                yield sentence[: match.start()] + chance.choice(found) + sentence[match.end() :]


def _half(sentence: str, language: str) -> tuple[str, str]:
    if language == "ja":
        places = [at + 1 for at, letter in enumerate(sentence[:-3]) if letter in "はがをに、" and at > 2]
        at = min(places, key=lambda place: abs(place - len(sentence) // 2))
        return sentence[:at], sentence[at:]
    words = sentence.split(" ")
    half = len(words) // 2
    return " ".join(words[:half]) + " ", " ".join(words[half:])


def _noisy(sentence: str, language: str) -> str:
    """Return a sentence as PDF files have it: ligatures, broken lines, doubled and full-width letters."""
    if language != "en":
        wide = str.maketrans("0123456789", "０１２３４５６７８９")
        return sentence.translate(wide).replace(" ", "\n", 1).replace("、", "、\n")
    noisy = sentence.replace("ffi", "ﬃ").replace("fi", "ﬁ").replace("fl", "ﬂ").replace(" ", "  ", 1)
    return re.sub(r"\b([a-z]{3})([a-z]{4,})\b", "\\1-\n\\2", noisy, count=1)
