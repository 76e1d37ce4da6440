"""Web pages as sites build them: an article among menus, boxes of links, notices and a footer."""

PARAGRAPHS = {
    "en": (
        "The ferry to the island leaves every morning at seven from the old harbour below the castle.",
        "In winter, when the sea is rough, the crossing takes two hours and some regret their breakfast.",
        "Tickets are sold on board; a bicycle costs three crowns more and a dog travels free of charge.",
    ),
    "ko": (
        "섬으로 가는 배는 매일 아침 일곱 시에 성 아래 옛 항구에서 떠난다. 표는 배 위에서 판다.",
        "겨울에 바다가 거칠면 건너는 데 두 시간이 걸리고, 어떤 사람들은 아침을 먹은 것을 후회한다.",
        "자전거를 싣는 데에는 삼천 원이 더 들지만 개는 돈을 내지 않고 탈 수 있다고 선장이 말했다.",
    ),
    "ja": (
        "島へ行く船は毎朝七時に城の下の古い港から出る。切符は船の上で売られている。",
        "冬に海が荒れると渡るのに二時間かかり、朝ご飯を食べたことを後悔する人もいる。",
        "自転車を載せるには三百円多くかかるが、犬は無料で乗ることができると船長は言った。",
    ),
}
TITLES = {"en": "The Island Ferry", "ko": "섬으로 가는 배", "ja": "島へ行く船"}
AROUND = {
    "en": (
        "Home",
        "Subscribe to our newsletter",
        "Most read this week",
        "All rights reserved by the newspaper",
    ),
    "ko": ("처음으로", "소식지를 구독하세요", "이번 주 많이 본 기사", "무단 전재 및 재배포 금지"),
    "ja": ("ホーム", "メールマガジンを購読する", "今週よく読まれた記事", "無断転載を禁じます"),
}


def page(language: str, *, charset: str = "", nonce: str = "") -> str:
    """Return a page whose content is one article with headings, a table, code and a list."""
    home, subscribe, most_read, rights = AROUND[language]
    first, second, third = PARAGRAPHS[language]
    declared = f'<meta charset="{charset}">' if charset else ""
    links = "".join(f'<li><a href="/{n}">{most_read} {n}</a></li>' for n in range(12))
    return f"""<!DOCTYPE html><html lang="{language}"><head>{declared}
<title>{TITLES[language]} - The Daily Wave</title><style>p {{ color: red }}</style>
<script nonce="{nonce}">window.token = "{nonce}"; document.write("written by a script")</script></head>
<body><nav><ul><li><a href="/">{home}</a></li></ul></nav>
<div class="newsletter"><form><p>{subscribe}</p><input name="mail"><button>OK</button></form></div>
<div id="main"><article><h1>{TITLES[language]}</h1>
<p>{first}</p><p>{first} {second}</p>
<h2>{second[:9]}</h2><p>{second} {third}</p>
<table><thead><tr><th>Day</th><th>Hour</th></tr></thead><tbody>
<tr><td rowspan="2">Monday</td><td>7</td></tr><tr><td>19</td></tr></tbody></table>
<h2>{third[:9]}</h2><p>{third} <code>ferry --today</code> {first}</p>
<ul><li>{second}</li><li>{third}</li></ul>
<pre><code>leave = 7
arrive = 9</code></pre></article>
<aside><h3>{most_read}</h3><ul>{links}</ul></aside></div>
<footer><p>{rights}</p><p>{nonce}</p></footer></body></html>"""
