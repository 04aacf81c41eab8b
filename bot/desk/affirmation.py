"""Recognises messages in which a customer says that they have been helped, in the five languages.

affirms        The message only thanks, or says that the answer helped.
asks_nothing   The message affirms, or is another courtesy: a greeting or a goodbye.
is_last_word   The message affirms, or is a goodbye or an "ok". It needs no answer.
"""

import re
import unicodedata
from collections.abc import Iterator

from bot.desk.policy import is_small_talk

TEXT_LIMIT = 160
"""The most characters of such a message. A longer one says more than a courtesy."""

_SERVED = """
thanks, thank you, thx, ty, cheers, many thanks, thanks a lot, thanks a million, thank you so much, thanks so much,
thank you very much, thanks very much, much appreciated, i appreciate it, that works, it works, works now, it works now,
that worked, it worked, works for me, that helps, that helped, this helps, this helped, helpful, very helpful,
that's helpful, that was helpful, that's what i needed, that is what i needed, exactly what i needed,
just what i needed, that answers my question, that answered my question, that answers it, that's it, that did it,
that did the trick, solved, problem solved, sorted, all sorted, resolved, got it, perfect, great, awesome, excellent,
wonderful, lovely, brilliant, fantastic, that's great, that's perfect,

terima kasih, terimakasih, makasih, makasi, trims, sudah bisa, udah bisa, sudah berhasil, udah berhasil, berhasil,
membantu, itu membantu, sangat membantu, membantu sekali, sudah jelas, udah jelas, beres, sudah beres, udah beres,
mantap, sip, siip,

danke, dankeschön, danke dir, danke ihnen, danke schön, danke sehr, vielen dank, besten dank, herzlichen dank,
tausend dank, das hilft, das hilft mir, das hilft mir weiter, hat geholfen, das hat geholfen, funktioniert,
es funktioniert, das funktioniert, funktioniert jetzt, klappt, es klappt, das klappt, hat geklappt, das hat geklappt,
erledigt, gelöst, problem gelöst, das war's, genau das, perfekt, super, prima, wunderbar, ausgezeichnet, hilfreich,
sehr hilfreich, das beantwortet meine frage,

gracias, muchas gracias, mil gracias, muchísimas gracias, funciona, eso funciona, ya funciona, funcionó,
ha funcionado, me sirve, me sirvió, me ha servido, eso ayuda, eso me ayuda, me ha ayudado, me ayudó, resuelto,
solucionado, problema resuelto, ya está, perfecto, genial, excelente, estupendo, muy útil, listo, entendido,

merci, merci beaucoup, merci bien, mille mercis, un grand merci, merci à vous, merci à toi, ça marche, cela marche,
ça fonctionne, cela fonctionne, ça a marché, ça aide, ça m'aide, cela m'aide, résolu, c'est résolu, problème résolu,
c'est réglé, parfait, c'est parfait, génial, très utile, impeccable, c'est bon,

:clap:, :blush:, :smile:, :smiley:, :grin:, :slightly_smiling_face:, :heart_eyes:, :star-struck:, :wave:, :100:,
:+1:, :thumbsup:, :pray:, :white_check_mark:, :ok_hand:, :heart:, :raised_hands:, :tada:, 👍, 🙏, ✅, 👌, ❤, 🙌, 🎉
"""
"""Phrases that affirm by themselves, in English, Indonesian, German, Spanish and French, and emoji."""
_BESIDES = """
so much, very much, a lot, for the help, for your help, for helping, for the info, for the quick reply,
for the quick help, that's all, that is all, nothing else, no thanks, no thank you, have a nice day, have a good day,
bye, goodbye, all good, cool, nice, alright, you, everyone, team,
oke, baik, kak, min, banyak, atas bantuannya, itu saja,
alles klar, gut, sehr gut, für die hilfe, für ihre hilfe, für deine hilfe, für die schnelle hilfe, für die info,
vielmals, das ist alles, nein danke, schönen tag, schönen tag noch, tschüss,
vale, bien, muy bien, eso es todo, nada más, no gracias, por la ayuda, por su ayuda, por tu ayuda, por todo,
muy amable, adiós, hasta luego, un saludo,
d'accord, très bien, c'est tout, non merci, pour tout, pour l'info, pour votre aide, pour ton aide, de votre aide,
bonne journée, au revoir
"""
"""Phrases that can accompany an affirmation, and are a courtesy by themselves."""
_AND = "ok, okay, yes, yep, yeah, ah, oh, now, again, too, ya, iya, sekarang, ja, jetzt, sí, ahora, oui, maintenant"
"""Words that can accompany both. By themselves they can be the answer to a question that was asked back."""

_TOKEN = re.compile(r":[a-z0-9_+-]+:|[^\W_]+|[👍🙏✅👌❤🙌🎉]")
_SKIN = re.compile(r":skin-tone-\d:|[\ufe0f\U0001f3fb-\U0001f3ff]")


def affirms(text: str) -> bool:
    """Whether the message says that the customer has been helped, and nothing else."""
    return any(phrase in _SERVED_PHRASES for phrase in _phrases(text))


def asks_nothing(text: str) -> bool:
    """Whether the message is only a courtesy: it affirms, greets or says goodbye."""
    return is_small_talk(text) or any(phrase not in _AND_PHRASES for phrase in _phrases(text))


def is_last_word(text: str) -> bool:
    """Whether the message only thanks, agrees or says goodbye after a matter is settled.

    A text with a question mark never does.
    """
    return "?" not in text and any(phrase not in _AND_PHRASES or phrase in _OK for phrase in _phrases(text))


def _phrases(text: str) -> list[tuple[str, ...]]:
    """The courtesies that make up the whole message. Empty if it says anything else.

    At each position the longest known phrase is taken.
    """
    plain = _plain(text) if len(text) <= TEXT_LIMIT else ""
    first = _TOKEN.search(plain)
    # Most messages are no courtesies, and for nearly all of them the first word shows it.
    words = _TOKEN.findall(plain) if first and first[0] in _FIRST_WORDS else []
    found: list[tuple[str, ...]] = []
    at = 0
    while at < len(words):
        phrase = next(_known(words, at), None)
        if phrase is None:
            return []
        found.append(phrase)
        at += len(phrase)
    return found


def _known(words: list[str], at: int) -> Iterator[tuple[str, ...]]:
    for length in range(_LONGEST, 0, -1):
        if (phrase := tuple(words[at : at + length])) in _ALL_PHRASES:
            yield phrase


def _plain(text: str) -> str:
    """The text in lower case, without accents and skin tones."""
    plain = text.casefold()
    if not plain.isascii():
        apart = unicodedata.normalize("NFKD", plain)
        plain = "".join(sign for sign in apart if not unicodedata.combining(sign))
    elif ":" not in plain:
        return plain
    return _SKIN.sub("", plain)


def _all(phrases: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(_TOKEN.findall(_plain(phrase))) for phrase in phrases.split(","))


_SERVED_PHRASES, _AND_PHRASES = _all(_SERVED), _all(_AND)
_OK = _all("ok, okay")
_ALL_PHRASES = _SERVED_PHRASES | _all(_BESIDES) | _AND_PHRASES
_FIRST_WORDS = frozenset(phrase[0] for phrase in _ALL_PHRASES)
_LONGEST = max(map(len, _ALL_PHRASES))
