"""Which language a message is in, and what its words are in English, as far as a shop needs them."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import yaml


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")

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
        "nomor barang kirim bayar kembali uang cara lama hari punya harus apakah kantor mendapat dapat"
    ),
    "de": _words(
        "der die das den dem des ein eine einen einem einer ist sind war bin habe hat haben ich du er sie es wir ihr "
        "mein meine meinen ihre unser und oder aber wenn nicht kein keine ja nein was welche wer wann wo warum wie "
        "kann können könnte wird werden soll muss möchte zu von in im an am auf für mit bei aus nach noch schon bitte "
        "hallo guten tag danke etwas zurück mir mich sich dass bestellung paket gibt wurde geht dauert lange finde "
        "finden bekomme bekommen setze nehmen sind seid uns"
    ),
    "es": _words(
        "el la los las un una es son era soy ser está están estoy ha he hay yo tú usted él ella nosotros mi mis su sus "
        "y o pero si no sí qué cuál quién cuándo dónde donde por porque cómo como puedo puede pueden quiero quisiera "
        "de del en con para a al lo le me se que este esta ese esa hola buenos días gracias favor pedido paquete "
        "cuánto cuanto tengo todavía aún ya muy más hacer tienen tiene tenéis hago recibo encuentro tan"
    ),
    "fr": _words(
        "le la les un une des du de est sont était suis être ai as a avez ont je tu il elle nous vous ils mon ma mes "
        "votre vos notre et ou mais si ne pas non oui que quel quelle qui quand où pourquoi comment peux peut pouvez "
        "veux voudrais à au aux en dans sur pour par avec ce cette ces bonjour bonsoir salut merci plaît commande "
        "colis combien encore déjà très plus faire quels quelles sont c'est j'ai n'est qu'est-ce est-ce trouver "
        "trouve serai seront mot avoir fait puis dois doit voulez veut savoir"
    ),
}
"""Words that say nothing about the subject but much about the language."""


def language_of(text: str, earlier: Iterable[str] = ()) -> str:
    """The language of the message; if it does not tell, that of the first of `earlier` that does, else English."""
    for candidate in (text, *earlier):
        scores = {language: _hits(candidate, words) for language, words in COMMON.items()}
        best = max(scores, key=lambda language: scores[language])
        if scores[best] > 0:
            return best
    return "en"


def in_english(word: str) -> list[str]:
    """The English words for it, or its synonyms, the best first; one of them may be two words."""
    return [english for english, others in _glossary().items() if word in others]


def search_word(word: str) -> str:
    """The one to search for; empty for a word that the glossary does not hold."""
    return word if word in _glossary() else next(iter(in_english(word)), "")


def _hits(text: str, words: frozenset[str]) -> int:
    return sum(word.lower() in words for word in WORD.findall(text[:2_000]))


@cache
def _glossary() -> Mapping[str, frozenset[str]]:
    """English words -> their synonyms and the foreign words for them, in the order of the file."""
    lines = yaml.safe_load((Path(__file__).parent / "glossary.yml").read_text(encoding="utf-8"))
    return {english: _words(others) for english, others in lines.items()}
