"""Rules that no model decides: when a person is called, and which answers may stand.

asks_for_person   the customer's words ask for a human being
is_small_talk     a greeting or a thank-you, which needs no source
may_stand         an answer rests on something that was found
needs_person      words about money disputes, law or safety, which a person handles
"""

import re

_PERSON = (
    # English
    r"\b(?:talk|speak|chat)\w*\s(?:to|with)\s(?:an?\s|the\s|your\s)?(?:real\s|actual\s|live\s|human\s|support\s)*"
    r"(?:human|person|someone|somebody|representative|agent|operator|staff)\b",
    r"\b(?:get|give|connect|transfer|put|pass)\s(?:me\s)(?:through\s)?(?:to\s|with\s|over\sto\s)?(?:an?\s|the\s|your\s)?"
    r"(?:real\s|actual\s|live\s|human\s|support\s)*(?:human|person|someone|somebody|representative|agent|operator)\b",
    r"\b(?:real|actual|live)\s(?:human|person)\b",
    r"\b(?:human|person|agent)\s(?:please|now)\b",
    r"^\W*(?:human|agent|person|representative|operator)\W*$",
    # Indonesian
    r"\b(?:bicara|ngomong|ngobrol|hubungkan|sambungkan|disambungkan)\s(?:saya\s)?(?:dengan\s|sama\s|ke\s|dgn\s)?"
    r"(?:orang|manusia|cs|admin|petugas|staf|agen|operator)\b",
    r"\borang\s(?:asli|beneran)\b",
    # German
    r"\bmit\s(?:einem\s|einer\s|dem\s|der\s)?(?:echten\s|richtigen\s)?"
    r"(?:menschen|person|mitarbeiter|mitarbeiterin|berater|beraterin|jemandem?)\s(?:sprechen|reden|schreiben|verbinden)",
    # Spanish
    r"\b(?:hablar|chatear)\scon\s(?:una?\s|alg[uú]n\s|el\s|la\s)?(?:humano|persona|agente|representante|operador|alguien)",
    r"\b(?:p[aá]s[ae]me|con[eé]cta\w*|comun[ií]ca\w*)\scon\s(?:una?\s|el\s|la\s)?(?:humano|persona|agente|alguien)",
    r"\bpersona\sreal\b",
    # French
    r"\b(?:parler|discuter)\s(?:à|a|avec|au)\s(?:une?\s|le\s|la\s)?(?:vraie?\s)?"
    r"(?:humain|personne|conseill\w+|agent|quelqu.un)\b",
    r"\bvraie\spersonne\b",
)
_SENSITIVE = (
    r"\b(?:charge ?back|lawyer|attorney|lawsuit|sue you|legal action|fraud(?:ulent)?|scam(?:med)?)\b",
    r"\bcall(?:ing)? the police\b",
    r"\b(?:account|card)\b.{0,20}\b(?:hacked|stolen|compromised)\b|\b(?:hacked|stolen)\b.{0,20}\b(?:account|card)\b",
    r"\b(?:pengacara|lapor polisi|penipuan|tuntut)\b",
    r"\b(?:anwalt|anzeige erstatten|betrug)\b",
    r"\b(?:abogad[oa]|denunciar\w*|estafa|fraude)\b",
    r"\b(?:avocat|porter plainte|arnaque)\b",
)
_SMALL_TALK = (
    r"hi|hello|hey|yo|good (?:morning|afternoon|evening|day)|thanks?(?: you)?(?: (?:so|very) much)?|thx|ty|cheers",
    r"ok(?:ay)?|great|perfect|cool|nice|got it|bye|goodbye|see you|there|a lot|all good|never ?mind",
    r"halo|hai|selamat (?:pagi|siang|sore|malam)|terima ?kasih|makasih|oke|baik|banyak|kak|min",
    r"hallo|guten (?:tag|morgen|abend)|danke(?: sch[oö]n)?|vielen dank|super|tsch[uü]ss|alles klar",
    r"hola|buen[oa]s (?:d[ií]as|tardes|noches)|(?:muchas )?gracias|vale|perfecto|adi[oó]s",
    r"bonjour|bonsoir|salut|merci(?: beaucoup)?|d.accord|parfait|au revoir",
)

_PERSON_PATTERN = re.compile("|".join(_PERSON), re.IGNORECASE)
_SENSITIVE_PATTERN = re.compile("|".join(_SENSITIVE), re.IGNORECASE)
_SMALL_TALK_PATTERN = re.compile(rf"\W*(?:(?:{'|'.join(_SMALL_TALK)})\b\W*)+", re.IGNORECASE)
_READ_LIMIT = 2_000
"""Characters of a message that the patterns read."""

CLARIFYING_LIMIT = 300
"""Characters of a question back to the customer that needs no source."""
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")


def asks_for_person(text: str) -> bool:
    """True when the customer's words ask for a human being; then no model is asked."""
    return bool(_PERSON_PATTERN.search(text[:_READ_LIMIT]))


def needs_person(text: str) -> bool:
    """True for disputes, law, fraud and stolen accounts: a person handles these."""
    return bool(_SENSITIVE_PATTERN.search(text[:_READ_LIMIT]))


def is_small_talk(text: str) -> bool:
    """True for a greeting or thanks and nothing else."""
    return len(text) <= 120 and bool(_SMALL_TALK_PATTERN.fullmatch(text))


def may_stand(answer: str, message: str, *, evidence: bool, searched_in_vain: bool = False) -> bool:
    """Whether an answer may be shown: it rests on evidence, answers small talk, or asks back and says nothing else.

    After a search in vain nothing is asked back: the customer is told that it was not found.
    """
    if evidence or is_small_talk(message):
        return True
    return not searched_in_vain and len(answer) <= CLARIFYING_LIMIT and _only_asks(answer)


def _only_asks(answer: str) -> bool:
    """Every sentence is a question: a claim with a question behind it is a claim."""
    sentences = _SENTENCE_END.split(answer.strip())
    return all(sentence.endswith(("?", "？")) for sentence in sentences)
