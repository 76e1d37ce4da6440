# ruff: noqa: E501 - the words of one operation on a line each
"""Words by which questions over a grid ask for an operation or a limit: English, Korean, Japanese."""

import re
from typing import Literal

Asked = Literal["sum", "mean", "highest", "lowest", "earliest", "latest", "count", "cells"]
OPERATIONS: tuple[tuple[Asked, re.Pattern[str]], ...] = (
    ("latest", re.compile(r"\b(?:latest|newest|most recent|last)\b|가장 (?:늦|최근)|마지막|最も(?:遅|新し)|一番(?:遅|新し)|最新|最後", re.IGNORECASE)),
    ("earliest", re.compile(r"\b(?:earliest|oldest|soonest|first)\b|가장 (?:이른|이르|빠른|빠르|먼저|오래)|최초|最も(?:早|古)|一番(?:早|古)|最初", re.IGNORECASE)),
    ("lowest", re.compile(r"\b(?:lowest|smallest|(?<!at )least|minimum|cheapest|shortest)\b|가장 (?:낮|적|작|싼|싸|짧)|최소|최저|(?:最も|一番)(?:低|少な|小さ|安|短)|最小|最低|最短", re.IGNORECASE)),
    ("highest", re.compile(r"\b(?:highest|largest|biggest|greatest|(?<!at )most|maximum|longest)\b|가장 (?:높|많|큰|크|비싼|비싸|긴|길)|최대|최고|(?:最も|一番)(?:高|多|大き|長)|最大|最高|最長", re.IGNORECASE)),
    ("mean", re.compile(r"\b(?:average|mean)\b|평균|平均", re.IGNORECASE)),
    ("sum", re.compile(r"\b(?:sum|total|altogether|combined|in all)\b|합계|총액|총 |모두 (?:얼마|합)|合計|総額|全部で", re.IGNORECASE)),
    ("count", re.compile(r"\bhow many\b|\bnumber of\b|몇 ?(?:개|건|곳|명|부)|개수|何(?:件|個|社|通)|いくつ|件数", re.IGNORECASE)),
)  # fmt: skip
"""Operations and their words, in this order: “most recent” is no maximum."""
NEGATED = re.compile(
    r"\b(?:not|no|without|never)\b|n['’]t\b|않|없|못|불가|ない|ません|なし|不可", re.IGNORECASE
)
OVER = re.compile(r"\b(?:more than|over|above|at least|after|exceed\w*|longer than)\b|이상|초과|넘|이후|以上|超|以降|より(?:高|多|大き|長)", re.IGNORECASE)  # fmt: skip
UNDER = re.compile(r"\b(?:less than|under|below|at most|before|up to|shorter than)\b|이하|미만|이전|以下|未満|以前|より(?:低|少な|小さ|安|短)", re.IGNORECASE)  # fmt: skip
