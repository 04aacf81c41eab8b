"""From what a customer wrote to what is looked up.

People greet, tell a story, ask, and thank. Looked up as one text, the greeting and the story hide the question: words
that no page has lower every score. So sentences with manners only are left out. If several sentences remain, each one
that says enough is looked up by itself, as well as all together. A chunk's best score counts.

Some words of manner are also what people ask about: a team, a tag, the best plan. If nothing else is asked, a question
with such a word is looked up as it is.
"""

import re

FACETS = 4
"""Lookups for one message, at most."""
TELLING_WORDS = 3
"""Words besides manners that a sentence needs to be looked up by itself."""

_FUNCTION_WORDS = """
a about am an and any are as at be been but by can could did do does for from had has have how i if in into is it
its me my of on or our shall should so than that the their them then there these they this those to us was we were
what when where which who whom why will with would you your
aren couldn d didn doesn don isn ll m re s t ve wasn won wouldn

aber auf aus bei beim bin bist das dass dem den der des dir du durch ein eine einem einen einer eines er es für
habe haben ich ihr ihre im ist kann können man mein meine meinen mich mir mit nach oder sich sie sind um und uns
vom von wann warum was welche wenn werden wer wie wir wird wo wurde zu zum zur

au aux avec ce ces cette comment dans de des du elle en est et eux il ils j je l la le les leur lui ma mes mon ne
nos notre nous où par pas pour pourquoi qu quand que quel quelle qui sa ses son sont sur ta tes ton tu un une vos
votre vous

al como cómo con cual cuál cuando cuándo del desde donde dónde el ella en eres es esta este esto hay la las lo los
me mi mis nos para pero por porque puede puedo que qué quien quién se ser si sin sobre son su sus tu una uno y yo

ada adalah aku anda apa apakah bagaimana berapa bisa dalam dan dapat dari di dengan gimana ini itu kah ke kenapa
kami kapan kita mana mengapa nya oleh pada saya siapa sudah udah untuk yang

bonjour bonsoir danke bitte gracias greetings hallo hello hey hi hola kasih makasih merci moin permisi please
regards salut selamat servus svp terima thank thanks thx tolong
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that do not show what is asked: English, German, French, Spanish, Indonesian, and greetings."""

_MANNERS = """
advance afternoon anyone appreciate appreciated best cheers day dear doing evening everyone folks good great guys
hear hope hoping just kind kindly know let like lot morning much nice quick question questions soon sorry team tell
wanted well wonder wondering

abend frage freundliche freundlichen gern gerne grüße grüßen guten kurze liebe lieben morgen sagen schönen tag
viele vielen voraus wissen wüsste

aimerais avance beaucoup cordialement journée plaît savoir voudrais

antemano buena buenas buenos cordial días favor muchas pregunta quisiera saber saludo saludos tardes

hai halo kak malam mau min mohon pagi siang sore tanya
"""
MANNERS = frozenset(_MANNERS.split()) | FUNCTION_WORDS
"""A sentence with only these words is mere manners. Next to other words they may well say something."""

UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
"""Scripts without spaces between words, and Korean, whose words carry particles."""

IDENTIFIER = re.compile(r"(?<![\w-])(?=[\w-]*\d{3})[\w-]{5,}(?![\w-])")
"""Order numbers, tracking numbers, codes. A page that has one is a find; that no page has one means nothing."""

_ASKING = """
what which who when where why how was welche wer wann wo warum wie que quel quelle qui quand où pourquoi comment
qué cuál quién cuándo dónde cómo apa siapa kapan kenapa mengapa bagaimana gimana
"""
_QUESTION_WORDS = frozenset(_ASKING.split())
_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")


def facets(message: str) -> tuple[str, ...]:
    """What to look up: the message without mere manners, then single sentences. Empty if nothing is asked."""
    spoken = [sentence.strip() for sentence in _SENTENCE_END.split(message)]
    sentences = [sentence for sentence in spoken if _weight(sentence)]
    if not sentences:
        return tuple(sentence for sentence in spoken if _asks_by_manners(sentence))[-1:]
    if len(sentences) < 2:
        return tuple(sentences)
    weighty = [sentence for sentence in sentences if _weight(sentence) >= TELLING_WORDS]
    # The question is usually at the end of a message.
    return (" ".join(sentences), *weighty[-(FACETS - 1) :])


def without_identifiers(text: str) -> str:
    """The text as it is embedded: the vector of a number is noise, and a long number hides the words."""
    return " ".join(IDENTIFIER.sub(" ", text).split()) or text


def _asks_by_manners(sentence: str) -> bool:
    """Whether it is a question with a word that can be looked up: "What is a team?", but not "How are you?"."""
    words = [word.lower() for word in _WORD.findall(sentence)]
    asks = sentence.endswith("?") or not _QUESTION_WORDS.isdisjoint(words[:1])
    return asks and any(word not in FUNCTION_WORDS for word in words)


def _weight(sentence: str) -> int:
    """Words besides manners. Two characters of an unspaced script count as a word."""
    unspaced = sum((len(run) + 1) // 2 for run in UNSPACED.findall(sentence))
    return unspaced + sum(word.lower() not in MANNERS for word in _WORD.findall(UNSPACED.sub(" ", sentence)))
