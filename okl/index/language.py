"""Which language a text is written in, told from its script and its commonest words."""

from __future__ import annotations

import re
from collections.abc import Sequence

DEFAULT = "en"
PLAIN = "none"
SAMPLE = 1000
_FEWEST = 3

STEMMERS = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip

_SCRIPTS = (
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("ta", re.compile(r"[\u0b80-\u0bff]")),
)
_NO_RUSSIAN = re.compile(r"[іїєґўћђљњџќѓ]", re.I)

_FUNCTION_WORDS = {
    "da": "af at blev den der det dig eller en er et for fra han har hun hvad hvor ikke jeg kan med men mig mit når og også om på sig skal som til var ved vi være",
    "de": "aber als am auch auf aus bei bin bis das dass dem den der des die durch ein eine einem einen einer er es für hat ich im in ist ja kann kein mit nach nicht noch nur oder sein sich sie sind über um und uns von vor war was weil wenn wer wie wir wird zu zum zur",
    "en": "a about an and are as at be but by can did do for from had has have he her his how i if in into is it its me my no not of on or our she so that the their them there they this to was we were what when where which who why will with would you your",
    "es": "al como con cuando de del donde el ella en entre era es esta este fue ha hay la las lo los más me mi muy ni no nos o para pero por porque que qué se ser si sin sobre son su sus también te tiene todo un una y ya yo",
    "fi": "ei ehkä että hän ja jo joka jos kanssa koska kuin kun me minä mitä mutta myös ne niin nyt oli olla on ovat sekä se sen siitä sinä tai tämä vain voi",
    "fr": "au aux avec ce ces cette comme dans de des du elle en est et eux il ils je la le les leur lui mais même ne nous on ont ou où par pas plus pour qu que qui sa sans se ses si son sont sur tu un une vous",
    "hu": "a az azt csak de egy el ez ezt ha hogy is itt kell még meg mert mi mint nem nincs ő pedig s sem szerint van vagy volt",
    "it": "ai al alla anche che chi ci come con cui da dal dalla degli dei del della delle di e è gli ha ho i il in io la le lo ma mi nel nella non o per perché più quando quello questa questo se si sono su sua suo tra un una",
    "nl": "aan als bij dat de deze die dit door een en er haar had heb heeft het hij hoe hun ik in is je kan maar met mijn naar niet nog of om ook op over te tot uit van voor was wat we wel werd wie wij wordt ze zich zijn",
    "no": "av ble da de den det du eller en er et etter for fra ha han har hun hva hvor ikke jeg kan med men mot nå når og også om opp på seg skal som til var ved vi vil være",
    "pt": "ao aos as até com como da das de dela dele do dos e é ela ele em entre era essa este eu foi há isso já mais mas me meu muito na não nas nem no nos o os ou para pela pelo por qual quando que quem se sem ser seu sua são também te tem um uma você",
    "ro": "a acest această ai al am ar are care ce cel cu că da de din dintre doar după este eu fi fost în la le lui mai mult nu o pe pentru prin sa sau se si și sunt să un una unei unui va",
    "sv": "alla att av bara blev de dem den denna det dig din du där efter ej eller en ett från för ha han har hon hur här i icke inte jag kan man med mig min mot mycket när och också om på sedan sig som till under upp ut var vi vid är",
    "tr": "ama ben bir bu böyle çok da daha de değil diye en gibi hem her için ile ise kadar ki mi mu ne nasıl o olan olarak sen siz şu var ve veya ya yok",
}  # fmt: skip

_ENGLISH_MORE = """
above after again against all also am any aren because been before being below between both cannot could couldn d didn
does doesn doing don down during each either else ever every few further get gets got hadn hasn haven having here hers
herself him himself however isn itself just ll m may might mine more most much must mustn myself nor now off once only
onto other ours ourselves out over own per re s same shall shan should shouldn some such t than themselves then these
those through thus too under until up upon us ve very via wasn weren while whom whose within without won wouldn yet
yours yourself yourselves
"""
STOP_WORDS = {code: frozenset(words.split()) for code, words in _FUNCTION_WORDS.items()}
STOP_WORDS["en"] |= frozenset(_ENGLISH_MORE.split())

WEAK_WORDS = frozenset(
    """
    ask asked away back bad become began begin best better big call called came change cheap child children come day
    does eat even feel find first found get give given go goes going gone good great happen help home house keep kind
    knew know known last leave life like little live long look lot made make making man many mean men month move much
    name need new next night number old part people person place play please put read really right run said same say
    see seen set show small start stop take taken tell thing things think thought time times today told tomorrow took
    tried try turn use used using want wanted way week well went woman women word words work worked working works world
    write year years yesterday
    """.split()
)
"""Everyday English words: one of them alone does not make a note an answer."""

_SPOKEN: dict[str, list[str]] = {}
for _code, _words in STOP_WORDS.items():
    for _word in sorted(_words):
        _SPOKEN.setdefault(_word, []).append(_code)
_WORD = re.compile(r"[^\W\d_]+")


def detect(text: str, allowed: Sequence[str] = ()) -> str:
    """The language of `text` as a key of STEMMERS, or `none` where words are not stemmed.

    Judged by the first 1,000 characters: the script if it is Cyrillic, Greek, Arabic or Tamil, else
    the language whose commonest words stand in it most often; English when that is unclear.
    `allowed` narrows the choice.
    """
    sample = text[:SAMPLE]
    if not sample.isascii() and (code := _by_script(sample)) is not None:
        return code if not allowed or code in allowed or code == PLAIN else PLAIN
    codes = [code for code in STOP_WORDS if not allowed or code in allowed]
    fallback = DEFAULT if DEFAULT in codes or not codes else codes[0]
    counts = dict.fromkeys(codes, 0)
    for word in _WORD.findall(sample.casefold()):
        for code in _SPOKEN.get(word, ()):
            if code in counts:
                counts[code] += 1
    best = max(codes, key=lambda code: (counts[code], code == fallback), default=fallback)
    return best if counts.get(best, 0) >= _FEWEST else fallback


def _by_script(sample: str) -> str | None:
    letters = max(1, sum(c.isalpha() for c in sample))
    for code, script in _SCRIPTS:
        if len(script.findall(sample)) > letters / 3:
            return PLAIN if code == "ru" and _NO_RUSSIAN.search(sample) else code
    return None
