# ruff: noqa: E501
"""Columns of a grid: questions or typed fields that are read from every document.

Templates have the columns of contracts, filings, papers, CVs and invoices, in three languages. Each field
also lists the terms by which documents call it (`rag.grid.terms`).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from rag.errors import GridRefused
from rag.i18n import N_

Kind = Literal["text", "date", "money", "number", "yes_no", "choice", "list"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MAX_NAME, MAX_QUESTION, MAX_INSTRUCTIONS = 120, 1000, 2000  # characters
MAX_OPTIONS = 50


@dataclass(frozen=True)
class Column:
    """A column: its name, the question it asks of each document, and the kind of its values.

    `options` are those of a choice; `unit` is what numbers and money are counted in, where that is wished
    ("USD", "days"). `instructions` reach the model, never the check.
    """

    id: str
    name: str
    question: str = ""
    kind: Kind = "text"
    options: tuple[str, ...] = ()
    unit: str = ""
    instructions: str = ""

    @property
    def asked(self) -> str:
        """The question, or the name where none was written."""
        return self.question or self.name

    def to_json(self) -> dict[str, Any]:
        """Return the column as it is stored and exported."""
        return {**asdict(self), "options": list(self.options)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Column":
        """Return a column by its fields, which may come from anyone; raises GridRefused."""
        options = fields.get("options", ())
        if not isinstance(options, list | tuple):
            raise GridRefused(N_("The options of “{column}” are no list.", column=fields.get("name")))
        column = cls(
            id=str(fields.get("id", "")).strip(),
            name=str(fields.get("name", "")).strip(),
            question=str(fields.get("question", "")).strip(),
            kind=fields.get("kind", "text"),
            options=tuple(str(option).strip() for option in options),
            unit=str(fields.get("unit", "")).strip(),
            instructions=str(fields.get("instructions", "")).strip(),
        )
        column.check()
        return column

    def check(self) -> None:
        """Raise GridRefused for a column that cannot be read."""
        if not self.name:
            raise GridRefused(N_("Give the column a name."))
        if len(self.name) > MAX_NAME:
            raise GridRefused(N_("A column needs a name of at most {count} characters.", count=MAX_NAME))
        if self.kind not in KINDS:
            raise GridRefused(
                N_(
                    "“{column}” has no known kind. Choose one of: {kinds}.",
                    column=self.name,
                    kinds=", ".join(KINDS),
                )
            )
        if len(self.question) > MAX_QUESTION or len(self.instructions) > MAX_INSTRUCTIONS:
            raise GridRefused(N_("Question or instructions of “{column}” are too long.", column=self.name))
        if self.kind == "choice" and not 2 <= len(set(self.options)) <= MAX_OPTIONS:
            raise GridRefused(
                N_("“{column}” needs 2 to {count} different options.", column=self.name, count=MAX_OPTIONS)
            )


Fact = Literal["", "name", "period_end", "period_start", "title", "author", "form", "date", "born", "died"]
LANGUAGES = ("en", "ko", "ja")


@dataclass(frozen=True)
class TemplateField:
    """Column of a template: name and question by language, and the terms by which documents call it.

    `terms` stand for the field's whole name in a label or a sentence; `fact` is what a document says of
    itself that is the field's value. A sentence is surely of the field only with a word of its `context`: what
    is paid until a day does not end on it.
    """

    id: str
    kind: Kind
    names: tuple[str, str, str]
    questions: tuple[str, str, str]
    terms: tuple[str, ...] = ()
    fact: Fact = ""
    unit: str = ""
    options: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    fact_only: bool = False
    """True where a sentence alone is never sure: it may tell when another person died."""

    def column(self, language: str) -> Column:
        """Return the field as a column in a language; in English where it is in no other."""
        at = LANGUAGES.index(language) if language in LANGUAGES else 0
        return Column(self.id, self.names[at], self.questions[at], self.kind, self.options, self.unit)

    @property
    def called(self) -> tuple[str, ...]:
        """All its names and terms."""
        return (*self.names, *self.terms)


@dataclass(frozen=True)
class Template:
    """Template of a grid: its title by language and its fields."""

    id: str
    titles: tuple[str, str, str]
    fields: tuple[TemplateField, ...]

    def title(self, language: str) -> str:
        """Return its title in a language."""
        return self.titles[LANGUAGES.index(language) if language in LANGUAGES else 0]

    def columns(self, language: str) -> list[Column]:
        """Return its columns in a language."""
        return [field.column(language) for field in self.fields]


def terms(*lines: str) -> tuple[str, ...]:
    """Return the terms in lines, which semicolons part."""
    return tuple(term.strip() for line in lines for term in line.split(";") if term.strip())


_OF_CONTRACT = terms("agreement; contract; lease; employment; term; 계약; 기간; 契約; 期間")
_OF_NOTICE = terms("terminat; cancel; resign; withdraw; 해지; 종료; 해제; 解約; 解除; 終了")
CONTRACT = Template("contract", ("Contract", "계약서", "契約書"), (
    TemplateField("parties", "list", ("Parties", "계약 당사자", "契約当事者"),
        ("Who are the parties to the contract?", "계약 당사자는 누구인가요?", "契約の当事者は誰ですか？"),
        terms("party; contracting parties; by and between; made between", "당사자", "当事者"), "name"),
    TemplateField("start", "date", ("Start", "시작일", "開始日"),
        ("On which day does the contract start?", "계약은 언제 시작되나요?", "契約はいつ始まりますか？"),
        terms("start date; commencement date; commencement; effective date; effective as of; commences on; commences; begins on; begins; starts on; takes effect; comes into force; in force from; with effect from; dated as of; entered into as of; from",
               "개시일; 발효일; 효력 발생일; 계약 시작일; 시작; 부터", "契約開始日; 効力発生日; 発効日; 始期; から"), context=_OF_CONTRACT),
    TemplateField("end", "date", ("End", "종료일", "終了日"),
        ("On which day does the contract end?", "계약은 언제 끝나나요?", "契約はいつ終わりますか？"),
        terms("end date; expiry date; expiration date; termination date; expires on; expires; ends on; ends; terminates on; continues until; remains in force until; until; through",
               "만료일; 계약 만료일; 계약 종료일; 만료; 종료; 까지", "契約終了日; 満了日; 終期; 満了; まで"), context=_OF_CONTRACT),
    TemplateField("notice", "number", ("Notice period", "해지 통지 기간", "解約予告期間"),
        ("How long before the end must notice be given?", "해지하려면 얼마 전에 통지해야 하나요?", "解約はどれだけ前に通知しますか？"),
        terms("notice; notice of termination; prior written notice; written notice; termination notice; period of notice",
               "해지 통보 기간; 통지 기간; 사전 통지; 서면 통지; 서면으로 통지; 통지; 통보", "予告期間; 通知期間; 書面による通知; 書面で通知; 通知; 予告"), context=_OF_NOTICE),
    TemplateField("law", "text", ("Governing law", "준거법", "準拠法"),
        ("Which law governs the contract?", "어느 나라 법이 적용되나요?", "どの国の法律が適用されますか？"),
        terms("applicable law; choice of law; governed by; construed in accordance with; subject to the laws of", "적용 법률; 적용 법; 적용법", "適用法; 適用法令")),
    TemplateField("liability", "text", ("Limit of liability", "책임의 한도", "責任の上限"),
        ("To how much is liability limited?", "책임은 얼마로 제한되나요?", "責任はいくらに制限されますか？"),
        terms("limitation of liability; limit on liability; liability cap; cap on liability; aggregate liability; total liability; liability; liable",
               "책임 한도; 손해배상 한도; 배상 한도; 책임 제한; 손해배상액; 손해배상", "責任限度; 損害賠償の上限; 責任の制限; 損害賠償額; 損害賠償")),
    TemplateField("renewal", "yes_no", ("Automatic renewal", "자동 갱신", "自動更新"),
        ("Is the contract renewed automatically?", "계약은 자동으로 갱신되나요?", "契約は自動的に更新されますか？"),
        terms("renews automatically; automatically renew; renewed automatically; automatically renewed; automatically extended; renew automatically",
               "자동으로 갱신; 자동 연장; 자동으로 연장; 자동갱신", "自動的に更新; 自動延長; 自動的に延長")),
))  # fmt: skip
FILING = Template("filing", ("Financial filing", "공시 보고서", "決算報告書"), (
    TemplateField("company", "text", ("Company", "회사", "会社"),
        ("Which company filed the report?", "어느 회사의 보고서인가요?", "どの会社の報告書ですか？"),
        terms("company name; registrant; name of the registrant; exact name of registrant as specified in its charter", "회사명; 상호; 법인명", "会社名; 商号; 提出会社"), "name"),
    TemplateField("period_end", "date", ("End of the period", "기간 종료일", "期間の末日"),
        ("On which day does the period of the report end?", "보고 기간은 언제 끝나나요?", "報告の対象期間はいつ終わりますか？"),
        terms("period end; period ended; quarter ended; year ended; reporting date; balance sheet date", "결산일; 기준일; 보고 기간 종료일", "決算日; 期末日; 基準日"), "period_end"),
    TemplateField("revenue", "money", ("Revenue", "매출액", "売上高"),
        ("What was the total revenue or net sales of the period?", "해당 기간의 매출액은 얼마인가요?", "当期の売上高はいくらですか？"),
        terms("revenues; net revenue; net revenues; sales; net sales; turnover; sales revenue; total net sales", "매출; 순매출; 영업수익; 수익", "売上; 純売上高; 売上収益; 営業収益")),
    TemplateField("operating_income", "money", ("Operating income", "영업이익", "営業利益"),
        ("What was the operating income or loss of the period?", "해당 기간의 영업이익은 얼마인가요?", "当期の営業利益はいくらですか？"),
        terms("income from operations; operating profit; operating loss; profit from operations; operating earnings", "영업손익; 영업손실; 영업이익(손실)", "営業損益; 営業損失; 営業利益又は営業損失")),
    TemplateField("net_income", "money", ("Net income", "당기순이익", "当期純利益"),
        ("What was the net income or loss of the period?", "해당 기간의 당기순이익은 얼마인가요?", "当期の純利益はいくらですか？"),
        terms("net profit; net earnings; net loss; profit for the period; profit for the year; net income or loss", "순이익; 당기순손익; 분기순이익; 반기순이익; 순손실", "純利益; 四半期純利益; 当期利益; 純損失; 親会社株主に帰属する当期純利益")),
    TemplateField("diluted_eps", "money", ("Diluted earnings per share", "희석주당이익", "希薄化後1株当たり利益"),
        ("What were the diluted earnings per share of the period?", "희석주당이익은 얼마인가요?", "希薄化後の1株当たり利益はいくらですか？"),
        terms("diluted eps; diluted net income per share; diluted loss per share; diluted net income per common share; diluted earnings per common share", "희석주당순이익", "潜在株式調整後1株当たり当期純利益; 希薄化後1株当たり当期利益")),
    TemplateField("total_assets", "money", ("Total assets", "자산총계", "総資産"),
        ("What were the total assets at the end of the period?", "기말의 자산총계는 얼마인가요?", "期末の総資産はいくらですか？"),
        terms("assets, total", "총자산; 자산 총계; 자산총액", "資産合計; 資産の部合計; 総資産額")),
    TemplateField("cash", "money", ("Cash and cash equivalents", "현금및현금성자산", "現金及び現金同等物"),
        ("How much were cash and cash equivalents at the end of the period?", "기말의 현금및현금성자산은 얼마인가요?", "期末の現金及び現金同等物はいくらですか？"),
        terms("", "현금 및 현금성자산; 현금과 현금성자산", "現金及び預金; 現金および現金同等物")),
    TemplateField("shares", "number", ("Shares outstanding", "발행주식수", "発行済株式数"),
        ("How many shares of common stock were outstanding?", "발행주식은 몇 주인가요?", "発行済株式は何株ですか？"),
        terms("shares of common stock outstanding; outstanding shares; common shares outstanding; shares of common stock were issued and outstanding; number of shares outstanding; number of shares of common stock outstanding", "발행주식총수; 발행주식의 총수; 유통주식수", "発行済株式総数; 発行済み株式数"), unit="shares"),
    TemplateField("segments", "list", ("Segments", "사업 부문", "事業セグメント"),
        ("What are the operating segments of the company?", "회사의 사업 부문은 무엇인가요?", "会社の事業セグメントは何ですか？"),
        terms("operating segments; reportable segments; business segments; reportable operating segments", "보고 부문; 영업 부문; 사업부문; 보고부문", "報告セグメント; セグメント")),
    TemplateField("incorporation", "text", ("State of incorporation", "설립지", "設立地"),
        ("Where is the company incorporated?", "회사는 어디에 설립되었나요?", "会社はどこで設立されましたか？"),
        terms("state or other jurisdiction of incorporation or organization; state or other jurisdiction of incorporation; jurisdiction of incorporation; place of incorporation; country of incorporation", "설립 국가; 설립 지역", "設立国; 設立準拠法")),
    TemplateField("exchange", "text", ("Stock exchange", "상장 거래소", "上場取引所"),
        ("On which exchange are the shares listed?", "주식은 어느 거래소에 상장되어 있나요?", "株式はどの取引所に上場していますか？"),
        terms("name of each exchange on which registered; name of exchange on which registered; exchange on which registered; listed on; exchange", "거래소; 상장 시장", "上場証券取引所; 取引所; 金融商品取引所")),
))  # fmt: skip
PAPER = Template("paper", ("Research paper", "연구 논문", "研究論文"), (
    TemplateField("title", "text", ("Title", "제목", "題名"), ("What is the title?", "제목은 무엇인가요?", "題名は何ですか？"), terms("", "논문 제목; 표제", "タイトル; 論題"), "title"),
    TemplateField("authors", "list", ("Authors", "저자", "著者"), ("Who wrote the paper?", "저자는 누구인가요?", "著者は誰ですか？"), terms("author; written by", "지은이; 작성자", "執筆者; 作成者"), "author"),
    TemplateField("task", "text", ("Task", "과제", "課題"),
        ("Which problem or task does the paper address?", "논문은 어떤 문제를 다루나요?", "論文はどの課題を扱いますか？"),
        terms("we address; we study; we consider; we investigate; the problem of; the task of; this paper addresses; this paper studies; the goal of; aims to; aim to", "목적; 문제; 다룬다; 연구한다", "目的; 問題; 取り組む; 検討する")),
    TemplateField("data", "text", ("Data", "데이터", "データ"),
        ("Which data or data sets are used?", "어떤 데이터를 사용했나요?", "どのデータを使いましたか？"),
        terms("dataset; data set; datasets; corpus; benchmark; we evaluate on; trained on", "데이터셋; 자료; 말뭉치", "データセット; コーパス; 資料")),
    TemplateField("method", "text", ("Method", "방법", "手法"),
        ("Which method does the paper propose?", "어떤 방법을 제안하나요?", "どの手法を提案しますか？"),
        terms("we propose; we present; we introduce; we develop; our method; our approach; this paper proposes; this paper presents", "제안한다; 제안하는 방법; 기법", "提案する; 提案手法; 方法")),
    TemplateField("result", "text", ("Result", "결과", "結果"),
        ("What is the main result?", "주요 결과는 무엇인가요?", "主な結果は何ですか？"),
        terms("results show; we show that; we find that; we found that; achieves; outperforms; improves; our results; experiments show", "결과; 보였다; 향상; 달성", "結果; 示した; 向上; 達成")),
))  # fmt: skip
CV = Template("cv", ("CV", "이력서", "履歴書"), (
    TemplateField("name", "text", ("Name", "이름", "氏名"), ("What is the person's name?", "이름은 무엇인가요?", "氏名は何ですか？"), terms("full name", "성명; 성함", "名前; お名前"), "author"),
    TemplateField("email", "text", ("Email", "이메일", "メール"), ("What is the email address?", "이메일 주소는 무엇인가요?", "メールアドレスは何ですか？"), terms("e-mail; email address; mail", "전자우편; 메일; 이메일 주소", "メールアドレス; 電子メール; Eメール")),
    TemplateField("phone", "text", ("Phone", "전화번호", "電話番号"), ("What is the phone number?", "전화번호는 무엇인가요?", "電話番号は何ですか？"), terms("telephone; mobile; phone number; tel", "전화; 연락처; 휴대전화; 휴대폰", "電話; 携帯電話; 連絡先")),
    TemplateField("position", "text", ("Current position", "현재 직위", "現職"),
        ("What is the person's current position?", "현재 직위는 무엇인가요?", "現在の職は何ですか？"), terms("position; job title; current role; occupation", "직책; 재직", "職位; 役職")),
    TemplateField("experience", "number", ("Years of experience", "경력 연수", "経験年数"),
        ("How many years of experience does the person have?", "경력은 몇 년인가요?", "経験は何年ですか？"), terms("years of professional experience; work experience; years' experience", "경력", "実務経験; 経験")),
    TemplateField("education", "text", ("Education", "학력", "学歴"),
        ("Which degree does the person have, and from where?", "최종 학력은 무엇인가요?", "最終学歴は何ですか？"), terms("degree; university; academic background; qualifications", "학위; 대학교; 졸업", "学位; 大学; 卒業")),
    TemplateField("skills", "list", ("Skills", "기술", "スキル"), ("Which skills does the person have?", "어떤 기술을 가지고 있나요?", "どのスキルがありますか？"), terms("technical skills; key skills; competencies; programming languages", "보유 기술; 기술 스택; 역량", "技能; 保有スキル; 技術")),
    TemplateField("languages", "list", ("Languages", "외국어", "語学"), ("Which languages does the person speak?", "어떤 언어를 할 수 있나요?", "どの言語を話しますか？"), terms("language skills; spoken languages", "언어; 어학", "言語; 外国語")),
))  # fmt: skip
INVOICE = Template("invoice", ("Invoice", "청구서", "請求書"), (
    TemplateField("number", "text", ("Invoice number", "청구서 번호", "請求書番号"), ("What is the invoice number?", "청구서 번호는 무엇인가요?", "請求書番号は何ですか？"), terms("invoice no.; invoice no; invoice #; invoice id", "청구 번호; 계산서 번호; 승인번호; 송장 번호", "請求番号; 伝票番号; 請求書No; 請求書No.")),
    TemplateField("date", "date", ("Invoice date", "청구일", "請求日"), ("On which day was the invoice issued?", "청구서는 언제 발행되었나요?", "請求書はいつ発行されましたか？"), terms("date of issue; issue date; date of invoice; issued on; date", "발행일; 작성일; 작성일자; 발행일자; 청구일자", "発行日; 請求年月日; 作成日; 発行年月日"), "date"),
    TemplateField("due", "date", ("Due date", "지급 기한", "支払期限"), ("By when must it be paid?", "언제까지 지급해야 하나요?", "いつまでに支払いますか？"), terms("payment due; due on; due by; payable by; payment date; pay by; date due", "지급기한; 납부 기한; 납기일; 결제일; 지급일", "支払期日; お支払期限; お支払い期限; 振込期限; 期限")),
    TemplateField("supplier", "text", ("Supplier", "공급자", "請求元"), ("Who issued the invoice?", "누가 청구했나요?", "請求元はどこですか？"), terms("seller; vendor; issued by; billed by; bill from", "공급하는 자; 판매자; 상호; 발행처", "発行元; 発行者; 売主; 販売者")),
    TemplateField("customer", "text", ("Customer", "공급받는 자", "請求先"), ("Who is to pay?", "누구에게 청구했나요?", "請求先はどこですか？"), terms("bill to; billed to; buyer; client; invoice to; sold to", "공급받는자; 구매자; 고객; 수신; 귀중", "宛先; お客様; 買主; 御中; 注文先; 発注先")),
    TemplateField("total", "money", ("Total amount", "합계 금액", "合計金額"), ("How much is to be paid in all?", "모두 얼마를 지급해야 하나요?", "合計でいくら支払いますか？"), terms("total; amount due; total due; grand total; balance due; total payable; invoice total", "합계; 총액; 청구 금액; 총 금액; 합계금액; 청구금액; 총계", "合計; ご請求金額; 請求金額; 総額; 税込合計; 合計（税込）; ご請求額")),
    TemplateField("tax", "money", ("Tax", "세액", "消費税"), ("How much tax is included?", "세금은 얼마인가요?", "消費税はいくらですか？"), terms("vat; sales tax; value added tax; gst; tax amount", "부가세; 부가가치세; 세금", "税額; 消費税額; 消費税等; 消費税（10%）")),
))  # fmt: skip
TEMPLATES: tuple[Template, ...] = (CONTRACT, FILING, PAPER, CV, INVOICE)


def find_template(template_id: str) -> Template:
    """Return the template of this id; raises GridRefused."""
    found = next((one for one in TEMPLATES if one.id == template_id), None)
    if found is None:
        raise GridRefused(
            N_(
                "There is no template “{name}”. Choose one of: {names}.",
                name=template_id,
                names=", ".join(one.id for one in TEMPLATES),
            )
        )
    return found
