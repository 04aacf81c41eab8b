"""The words that checks look for, in five languages. Capitals do not count."""

import re
from collections.abc import Mapping

REFUSAL = re.compile(
    r"(?:could ?n['o]t|could not|can ?not|can't|did ?n't|did not|was ?n't able to|unable to) (?:find|locate)\b"
    r"(?! \W?(?:ord|order|an? order|that order|this order|the order|#?\d|[\w-]*\d{4}))|rather not guess"
    r"|(?:don't|do not) have (?:any )?(?:information|an answer)"
    r"|(?:nicht|nichts(?: dazu| darüber)?) (?:gefunden|finden)|keine (?:information|antwort)\w* (?:gefunden|finden"
    r"|dazu)"
    r"|no (?:he |lo |la )*(?:encontr|encuentr|pude encontrar)\w*|(?:pas|rien)(?: \w+)? trouv|ne trouve pas"
    r"|(?:tidak|belum|nggak|gak) (?:bisa |dapat )?(?:mene?mukan|ditemukan)(?! \W?(?:ord|pesanan))"
    r"|(?:pages?|articles?) (?:(?:do|does)n't|do not|does not) (?:say|mention|cover|tell|answer)",
    re.IGNORECASE,
)
"""Nothing was found. That an order was not found is an answer."""
OFFER = re.compile(
    r"(?:bring in|get|call|fetch|involve|ask|pass\w* (?:this|it|you)|hand\w* (?:this|it|you)|connect|put|talk|speak"
    r"|loop in|forward|rope in)\b[^.!?\n]{0,50}\b(?:person|human|someone|somebody|colleagues?|team|agent|people)"
    r"|(?:person|human|colleague|team|agent|someone)\b[^.!?\n]{0,40}\b(?:can|could|will|would|is able to)"
    r" (?:help|check|look|sort|do|change|cancel|take|stop|see|fix|arrange)|talk to a person",
    re.IGNORECASE,
)
"""A person is offered."""
OFFERING_QUESTION = re.compile(
    r"(?:jemanden|mensch\w*|person|team|kolleg\w*|mitarbeiter\w*)\b[^.!?\n]{0,40}"
    r"\b(?:holen|rufen|fragen|hinzu|dazu\w*|weiter|sprechen)"
    r"|(?:persona|equipo|compañer\w+|agente)\b|(?:personne|équipe|collègue|conseill\w+|quelqu'un)\b"
    r"|(?:orang|tim|petugas|staf|rekan|seseorang)\b",
    re.IGNORECASE,
)
"""The same, in a question of the other languages."""
WAVE = re.compile(r":wave:|👋")
PROGRAM = re.compile(r"\{\w*\}|\bNone\b|\bnull\b|Traceback|undefined")
"""Something of a program."""
CASE = re.compile(r"\bFD-\d+")
ACKNOWLEDGES: Mapping[str, re.Pattern[str]] = {
    kind: re.compile(words, re.IGNORECASE)
    for kind, words in {
        "complaint": (
            r"sorry|apolog|understand|frustrat|annoy|upset|disappoint|regret|shouldn't have|should not have"
            r"|not (?:good|right|okay|ok|acceptable)|that's (?:bad|awful|terrible)|tut (?:mir|uns) leid|entschuldig"
            r"|bedauer|ärger|lo siento|lo sentimos|siento|lament|disculp|désolé|navré|excus|regrett|maaf|memahami"
            r"|mengerti|menyesal"
        ),
        "harm": (
            r"sorry|hope (?:you|he|she|they|everyone|nobody)|are you (?:ok|okay|safe|alright|all right|hurt)|stop using"
            r"|don't use|do not use|not use|turn (?:it|the|off)|emergency|doctor|medical|ambulance|hospital|poison"
            r"|fresh air|ventilat|leave the|safe|\b(?:112|911|999)\b|\bvet\b|veterinar|notarzt|notruf|arzt|tut mir leid"
            r"|médecin|urgence|secours|désolé|médico|emergencia|lo siento|dokter|darurat|maaf|semoga"
        ),
        "crisis": (
            r"helpline|help line|hotline|lifeline|crisis (?:line|service|team|cent)|emergency"
            r"|\b(?:988|112|911|999|116 ?123|0800)\b|talk to (?:someone|somebody)|someone (?:close|you trust)"
            r"|samaritans"
            r"|doctor|telefonseelsorge|notruf|urgences?|línea|ligne d'écoute|emergencia|darurat"
        ),
        "trouble": (
            r"sorry|apolog|oh no|understand|annoy|frustrat|not (?:ok|okay|right|good)|shouldn't|should not have|regret"
            r"|unfortunate|our mistake|our fault|disappoint|leid|entschuldig|désolé|navré|excus|siento|lament|disculp"
            r"|maaf|menyesal"
        ),
        "billing": r"charg|payment|\bpaid\b|amount|billing|money|reserv|debit|\bcard\b|refund|sorry|apolog",
        "security": r"password|sign(?:ed)? out|secur|\bblock|\block|freez|protect|\bsafe|\bstop",
        "legal": r"sorry|apolog|understand|serious|legal|regret|hear (?:that|this)|disappoint",
    }.items()
}
"""Kind of matter -> a word that fits it."""
HELD = re.compile(
    r"no problem|no worries|all right|alright|okay|\bok\b|glad|great|good to (?:hear|know)|good news|closed?|cancel"
    r"|withdr|won't|stop|press|button|stays? open|anything else|happy to|understood|sure|got it|perfect|super|freut|gut"
    r"|geschlossen|klar|gern|erledigt|knopf|offen|entend|compris|d'accord|ravi|de acuerdo|entendido|perfecto|alegr"
    r"|baik|senang|oke",
    re.IGNORECASE,
)
"""A taking back was heard."""
COURTEOUS = re.compile(
    r"welcome|glad|happy|pleasure|anything else|any ?time|whenever|enjoy|great|no problem|no worries|\bsure\b|i'm here"
    r"|have a|thank|nice to hear|good to hear|gern|bitte|freut|nada|gusto|placer|alegr|en prie|plaisir|ravi|sama.sama"
    r"|tant mieux|aidé|senang|kembali|😊|🙂|👍|:\w+:",
    re.IGNORECASE,
)
"""How one answers thanks."""
LITTLE_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the your you is has been and for with we can our this not are will have it to of in that",
        "de": "der die das ist wurde und für mit wir sie ihre ihrer nicht auf unserer sind wird haben es zu ein eine "
        "ich dem den steht was kann vom",
        "es": "el la los las es ha sido y para con nuestra su sus no está en que de un una se por puedo tu le ayuda "
        "dice del yo",
        "fr": "le la les est été et pour avec nous votre vos ne pas sur que de un une se par je notre dans à du elle "
        "vous aide",
        "id": "yang sudah dan untuk dengan kami anda pesanan tidak di ini itu akan ke dari adalah belum sedang dalam "
        "saya bisa paket",
    }.items()
}
"""Language -> words that tell it apart."""


def words_of(text: str, language: str) -> int:
    """How many little words of the language are in the text."""
    return sum(word in LITTLE_WORDS[language] for word in re.findall(r"[^\W\d_]+", text.lower()))


NEWER = re.compile(
    r"newer question has|neuere Rückfrage|question plus récente|pregunta más reciente|diganti dengan yang lebih baru",
    re.IGNORECASE,
)
"""What a preview of a change becomes as soon as another conversation asks for the same change."""
