"""Which language a message is in, and what its words are in English, as far as a shop needs them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

import yaml


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LEAST = 5
"""The least letters of a word of which other forms are known."""
_PART_LEAST = 6
"""The least letters of a word that compounds are made of."""

_ELIDED = frozenset({"l'", "d'", "j'", "n'", "s'", "c'", "m'", "t'"})
"""How French words begin that lost a letter."""
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ADVERB = re.compile(r"\b(?:schwer|leicht) (?=\w+bar\b)", re.IGNORECASE)

COMMON: Mapping[str, frozenset[str]] = {
    "en": _words(
        "a an the is are was be been am do does did have has had i you he she it we they my your our their me us "
        "this that these those to of in on at for from with by about into and or but if not no yes what which who "
        "when where why how can could will would should may might must there here than then so as please hi hello "
        "hey thanks thank just also any some need want get got much many long still now get's i'm it's don't "
        "something anything someone anyone thing things possible work works happens"
    ),
    "id": _words(
        "saya aku gue kamu anda kami kita dia mereka ini itu yang dan atau tapi tetapi tidak nggak gak enggak bukan "
        "ya apa siapa kapan mana dimana kenapa mengapa bagaimana gimana berapa bisa boleh mau ingin sudah udah belum "
        "sedang akan di ke dari dengan untuk pada dalam oleh kalau jika karena ada adalah saja aja sampai sampe tolong "
        "mohon halo hai selamat pagi siang sore malam terima kasih makasih dong sih nya lagi juga kok pesanan paket "
        "bodoh payah bagus bikin batalkan ubah alamat ongkir pengiriman garansi pertama kedua lainnya kapan isinya "
        "totalnya kurir resi tokonya "
        "nomor barang kirim bayar kembali uang cara lama hari punya harus apakah kantor mendapat dapat"
    ),
    "de": _words(
        "der die das den dem des ein eine einen einem einer ist sind war bin habe hat haben ich du er sie es wir ihr "
        "mein meine meinen ihre unser und oder aber wenn nicht kein keine ja nein was welche wer wann wo warum wie "
        "kann können könnte wird werden soll muss möchte zu von in im an am auf für mit bei aus nach noch schon bitte "
        "hallo guten tag danke etwas zurück mir mich sich dass bestellung paket gibt wurde geht dauert lange finde "
        "stornieren ändern lieferadresse rücksendung rückerstattung gutschein versand lieferung rechnung erste "
        "zweite andere "
        "bezahlt kostet zustellen geliefert angekommen nichts passiert ihnen mehr brauche stornier storniere ihn "
        "finden bekomme bekommen setze nehmen sind seid uns"
    ),
    "es": _words(
        "el la los las un una es son era soy ser está están estoy ha he hay yo tú usted él ella nosotros mi mis su sus "
        "y o pero si no sí qué cuál quién cuándo dónde donde por porque cómo como puedo puede pueden quiero quisiera "
        "de del en con para a al lo le me se que este esta ese esa hola buenos días gracias favor pedido paquete "
        "venden vende vendéis vender "
        "eres tonto cambiar cancelar devolver devolución reembolso envío envíos dirección tarjeta regalo primero "
        "primera otro "
        "otra "
        "cuánto cuanto tengo todavía aún ya muy más hacer tienen tiene tenéis hago recibo encuentro tan"
    ),
    "fr": _words(
        "le la les un une des du de est sont était suis être ai as a avez ont je tu il elle nous vous ils mon ma mes "
        "votre vos notre et ou mais si ne pas non oui que quel quelle qui quand où pourquoi comment peux peut pouvez "
        "veux voudrais à au aux en dans sur pour par avec ce cette ces bonjour bonsoir salut merci plaît commande "
        "colis combien encore déjà très plus faire quels quelles sont c'est j'ai n'est qu'est-ce est-ce trouver "
        "trouve serai seront mot avoir fait puis dois doit voulez veut savoir puis-je peut-on vous-même adresse "
        "livraison "
        "livrez article retour retourner modifier annuler rembourser remboursement carte cadeau merci d'accord où "
        "avez-vous pouvez-vous est-il premier première celui celle lequel laquelle autre passée payé coûte reçu rien"
    ),
}
"""Words that say nothing about the subject but much about the language."""


def language_of(text: str, earlier: Iterable[str] = ()) -> str:
    """The language of the message; if it does not tell, that of the first of `earlier` that does, else English."""
    for candidate in (text, *earlier):
        scores = {language: _hits(candidate, words) for language, words in COMMON.items()}
        scores["es"] += any(mark in candidate for mark in "¿¡")
        best = max(scores, key=lambda language: scores[language])
        if scores[best] > 0:
            return best
    return "en"


def in_english(word: str) -> Sequence[str]:
    """The English words for it, or its synonyms, the best first; one of them may be two words.

    A word that the glossary does not hold counts as another form of one that it does hold, as a compound that begins or
    ends with one, or as one with a slip of the pen.
    """
    return _known(word) or (_related(word) if len(word) >= _LEAST else ())


def search_word(word: str) -> str:
    """The one to search for; empty for a word that the glossary has nothing to say about."""
    return word if word in _glossary() else next(iter(in_english(word)), "")


def is_thing(word: str) -> bool:
    """Whether it names a thing one buys or waits for, rather than what is asked about it."""
    return search_word(word) in things()


def _hits(text: str, words: frozenset[str]) -> int:
    found = [word.lower().replace("’", "'") for word in WORD.findall(text[:2_000])]
    elided = "c'est" in words and sum(word[:2] in _ELIDED for word in found)
    return sum(word in words for word in found) + elided


def _known(word: str) -> tuple[str, ...]:
    found = tuple(english for english, others in _glossary().items() if word in others)
    return found or ((word[:-1],) if word[:-1] in _glossary() and word.endswith("s") else ())


@cache
def _related_words(beginning: str) -> tuple[str, ...]:
    """The glossary's words with this beginning."""
    return tuple(word for word in _all_words() if word.startswith(beginning))


@lru_cache(maxsize=4_096)
def _related(word: str) -> tuple[str, ...]:
    if word in _glossary() or any(word in words for words in COMMON.values()):
        return ()
    near = _related_words(word[:1])
    forms = [(_shared(word, other), other) for other in near if len(other) >= _LEAST]
    best = max((form for form in forms if _is_form(word, *form)), default=(0, ""))[1]
    part = best or next((other for other in _parts() if word.endswith(other) or word.startswith(other)), "")
    slip = part or next((other for other in near if len(word) > _LEAST <= len(other) and _is_slip(word, other)), "")
    return (slip, *_known(slip)) if slip in _glossary() else _known(slip)


def _is_form(word: str, shared: int, other: str) -> bool:
    shorter, longer = sorted((len(word), len(other)))
    return shared >= _LEAST and shorter - shared <= 2 and longer - shared <= 4


def _shared(one: str, other: str) -> int:
    """The length of the common beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _is_slip(word: str, other: str) -> bool:
    """Whether one letter is missing, too many, another, or changed places with the next."""
    if abs(len(word) - len(other)) > 1 or word == other:
        return False
    at = _shared(word, other)
    if len(word) == len(other):
        swapped = word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]
        return word[at + 1 :] == other[at + 1 :] or swapped == other[at:]
    longer, shorter = (word, other) if len(word) > len(other) else (other, word)
    return longer[at + 1 :] == shorter[at:]


@cache
def _all_words() -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for english, others in _glossary().items() for word in (english, *sorted(others))))


@cache
def _parts() -> tuple[str, ...]:
    """Words that compounds are made of, the longest first."""
    return tuple(sorted((word for word in _all_words() if len(word) >= _PART_LEAST), key=len, reverse=True))


@cache
def _glossary() -> Mapping[str, frozenset[str]]:
    """English words -> their synonyms and the foreign words for them, in the order of the file."""
    parts = (_file()[part] for part in ("subjects", "things"))
    return {english: _words(others) for part in parts for english, others in part.items()}


def in_single_words(text: str) -> str:
    """The text with one word for each expression, and without adverbs that are also a property of things.

    Nothing expires that somebody runs out of. In German, what is hard to do is "schwer" before an adjective in "-bar",
    but a heavy thing is "schwer", too.
    """
    for english, spoken in _expressions().items():
        text = spoken.sub(english, text)
    return _ADVERB.sub("", text)


@cache
def _expressions() -> Mapping[str, re.Pattern[str]]:
    return {
        english: re.compile(rf"\b(?:{'|'.join(map(re.escape, others.split(', ')))})\b(?! of\b)", re.IGNORECASE)
        for english, others in _file()["expressions"].items()
    }


@cache
def subjects_known() -> frozenset[str]:
    """The English words for what is asked about things."""
    return frozenset(_file()["subjects"])


@cache
def things() -> frozenset[str]:
    """The English words for things one buys or waits for."""
    return frozenset(_file()["things"])


@cache
def _file() -> Mapping[str, Mapping[str, str]]:
    text = (Path(__file__).parent / "glossary.yml").read_text(encoding="utf-8")
    parts: Mapping[str, Mapping[str, str]] = yaml.safe_load(text)
    return parts
