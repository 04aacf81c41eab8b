"""What is asked and said about a change that a tool prepares, and what a customer's message adds to an earlier wish."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from demo.model.conversation import Line, Talk
from demo.model.intents import Change, drops_it, motive_of, read_wants
from demo.model.phrases import PHRASES

Missing = Literal["reason", "article", "quantity", "address", "choice", "method", "more"]
MISSING: tuple[Missing, ...] = get_args(Missing)
KINDS: Mapping[Change, tuple[str, ...]] = {
    "cancel": ("cancel_order", "cancel_lines"),
    "refund": ("refund",),
    "return": ("return_items",),
    "address": ("change_order_address", "change_address"),
    "items": ("cancel_lines", "change_order_items", "exchange_items"),
}
"""What a tool may prepare for a wish. For the others a person is called."""


@dataclass(frozen=True, slots=True)
class ChangePhrases:
    """One language. Words in braces are filled in."""

    offered: str
    """When the details are shown below; all that is said then."""
    not_pressed: str
    """When the customer has thought better of what is shown."""
    under_way: str
    """{order}"""
    too_many: str
    with_people: str
    """When a person has the conversation."""
    left: str
    """When nothing is to be done any more."""
    asks: Mapping[Missing, str]
    """{order} {articles} {choices}; each begins with words of its own, by which it is known in the next turn."""


SAID: Mapping[str, ChangePhrases] = {
    "en": ChangePhrases(
        offered="Please check the details below and press a button; nothing changes until you do.",
        not_pressed="Nothing has been changed, and you can press No below the details.",
        under_way="A change of **{order}** is already under way, and you'll read here how it ends.",
        too_many="Please answer the open questions above first.",
        with_people="That is up to our team, who have your case.",
        left="All right, everything stays as it is.",
        asks={
            "reason": "May I ask why? Is something in **{order}** damaged or wrong, or have you changed your mind?",
            "article": "Which article of **{order}** do you mean: {articles}?",
            "quantity": "How many pieces do you mean, and of which article of **{order}**?",
            "address": "Where should **{order}** go? I need the whole new address: name, street, postal code, city and "
            "country.",
            "choice": "Which one would you like instead in **{order}**: {choices}?",
            "method": "Which of your payment methods should it be for **{order}**?",
            "more": "What exactly should be different about **{order}**?",
        },
    ),
    "de": ChangePhrases(
        offered="Bitte prüfen Sie die Angaben unten und drücken Sie einen Knopf; vorher ändert sich nichts.",
        not_pressed="Es wurde nichts geändert, und Sie können unter den Angaben auf Nein drücken.",
        under_way="Eine Änderung von **{order}** läuft schon, und Sie lesen hier, wie sie ausgeht.",
        too_many="Bitte beantworten Sie zuerst die offenen Fragen oben.",
        with_people="Das entscheidet das Team, bei dem Ihr Fall liegt.",
        left="In Ordnung, alles bleibt, wie es ist.",
        asks={
            "reason": "Darf ich fragen, warum? Ist etwas an **{order}** beschädigt oder falsch, oder haben Sie es sich "
            "anders überlegt?",
            "article": "Welchen Artikel aus **{order}** meinen Sie: {articles}?",
            "quantity": "Wie viele Stück meinen Sie, und von welchem Artikel aus **{order}**?",
            "address": "Wohin soll **{order}** gehen? Ich brauche die ganze neue Adresse: Name, Straße, Postleitzahl, "
            "Ort und Land.",
            "choice": "Welche Ausführung möchten Sie stattdessen in **{order}**: {choices}?",
            "method": "Mit welcher Ihrer Zahlungsarten möchten Sie **{order}** bezahlen?",
            "more": "Was genau soll an **{order}** anders sein?",
        },
    ),
    "fr": ChangePhrases(
        offered="Vérifiez les détails ci-dessous et appuyez sur un bouton ; rien ne change avant.",
        not_pressed="Rien n'a été modifié, et vous pouvez appuyer sur Non sous les détails.",
        under_way="Une modification de **{order}** est déjà en cours, et vous lirez ici comment elle se termine.",
        too_many="Répondez d'abord aux questions ouvertes ci-dessus, s'il vous plaît.",
        with_people="C'est à l'équipe qui a votre dossier d'en décider.",
        left="D'accord, tout reste comme avant.",
        asks={
            "reason": "Puis-je savoir pourquoi ? Quelque chose dans **{order}** est-il abîmé ou erroné, ou avez-vous "
            "changé d'avis ?",
            "article": "Quel article de **{order}** voulez-vous dire : {articles} ?",
            "quantity": "Combien de pièces, et de quel article de **{order}** ?",
            "address": "Où faut-il envoyer **{order}** ? Il me faut la nouvelle adresse complète : nom, rue, code "
            "postal, ville et pays.",
            "choice": "Lequel voulez-vous à la place dans **{order}** : {choices} ?",
            "method": "Avec lequel de vos moyens de paiement voulez-vous régler **{order}** ?",
            "more": "Qu'est-ce qui doit changer exactement dans **{order}** ?",
        },
    ),
    "es": ChangePhrases(
        offered="Revisa los detalles abajo y pulsa un botón; hasta entonces no cambia nada.",
        not_pressed="No se ha cambiado nada, y puedes pulsar No debajo de los detalles.",
        under_way="Ya hay un cambio de **{order}** en curso, y aquí leerás cómo termina.",
        too_many="Responde primero a las preguntas abiertas de arriba, por favor.",
        with_people="Eso lo decide el equipo que tiene tu caso.",
        left="De acuerdo, todo queda como está.",
        asks={
            "reason": "¿Puedo preguntar por qué? ¿Hay algo dañado o incorrecto en **{order}**, o has cambiado de idea?",
            "article": "¿A qué artículo de **{order}** te refieres: {articles}?",
            "quantity": "¿Cuántas piezas, y de qué artículo de **{order}**?",
            "address": "¿A dónde debe ir **{order}**? Necesito la nueva dirección completa: nombre, calle, código "
            "postal, ciudad y país.",
            "choice": "¿Cuál prefieres a cambio en **{order}**: {choices}?",
            "method": "¿Con cuál de tus formas de pago quieres pagar **{order}**?",
            "more": "¿Qué debe cambiar exactamente en **{order}**?",
        },
    ),
    "id": ChangePhrases(
        offered="Silakan periksa rinciannya di bawah dan tekan tombol; sebelum itu tidak ada yang berubah.",
        not_pressed="Belum ada yang diubah, dan Anda bisa menekan Tidak di bawah rinciannya.",
        under_way="Perubahan untuk **{order}** sedang diproses, dan hasilnya akan Anda baca di sini.",
        too_many="Mohon jawab dulu pertanyaan di atas.",
        with_people="Hal itu diputuskan oleh tim yang memegang kasus Anda.",
        left="Baik, semuanya tetap seperti semula.",
        asks={
            "reason": "Boleh tahu alasannya? Apakah ada yang rusak atau salah di **{order}**, atau Anda berubah "
            "pikiran?",
            "article": "Barang mana dari **{order}** yang Anda maksud: {articles}?",
            "quantity": "Berapa buah, dan barang mana dari **{order}**?",
            "address": "Ke mana **{order}** harus dikirim? Saya perlu alamat baru yang lengkap: nama, jalan, kode pos, "
            "kota, dan negara.",
            "choice": "Mana yang Anda inginkan sebagai gantinya di **{order}**: {choices}?",
            "method": "Metode pembayaran mana yang ingin Anda pakai untuk **{order}**?",
            "more": "Apa tepatnya yang harus diubah dari **{order}**?",
        },
    ),
}


@dataclass(frozen=True, slots=True)
class Earlier:
    """A wish that the message at hand completes."""

    first: str
    """The message that began it."""
    words: str
    """All of the customer's messages about it, each on its own lines."""
    names_order: bool
    """Whether the last of them says which order it is."""
    tells_reason: bool
    """Whether one of them was asked for the reason, so that its words are one."""


def can_prepare(talk: Talk, change: Change) -> bool:
    """Whether a tool on offer may prepare it."""
    return any(kind in talk.tools.changes for kind in KINDS.get(change, ()))


def earlier_request(talk: Talk) -> Earlier | None:
    """The earlier wish, if the assistant has just asked for what is missing in it and the message answers that."""
    if not talk.tools.changes:
        return None
    lines = [line for line in talk.lines if line.text.strip()]
    while lines and lines[-1].speaker == "customer" and lines[-1].text in (talk.said, talk.whole):
        lines.pop()
    names_order = bool(lines) and _asked_which(lines[-1])
    tells_reason = False
    words: list[str] = [talk.said]
    while len(lines) > 1 and lines[-2].speaker == "customer" and _asked(lines[-1]):
        words.insert(0, lines[-2].text)
        tells_reason = tells_reason or _begins(lines[-1].text, [said.asks["reason"] for said in SAID.values()])
        lines = lines[:-2]
    if len(words) == 1 or not _answers(talk.said, words[0]):
        return None
    return Earlier(words[0], "\n".join(words), names_order, tells_reason)


def drops_request(talk: Talk) -> bool:
    """Whether the customer lets a wish go, instead of saying what was asked."""
    last = next((line for line in reversed(talk.lines) if line.speaker == "assistant"), None)
    return bool(talk.tools.changes) and last is not None and _asked(last) and drops_it(talk.said)


def is_offered(talk: Talk) -> bool:
    """Whether the assistant has just pointed at the details of a change."""
    return any(said.offered in talk.answered for said in SAID.values())


def _answers(text: str, first: str) -> bool:
    """Whether it may belong to the wish `first`: it asks for nothing else."""
    wants = read_wants(text)
    if wants.only_talk or wants.chat or wants.how or wants.person:
        return False
    asks_else = text.rstrip().endswith("?") and not wants.orders
    other = wants.where or asks_else or wants.change not in (None, read_wants(first).change)
    return motive_of(text) is not None or not other


def _asked(line: Line) -> bool:
    begun = [said.asks[missing] for said in SAID.values() for missing in MISSING]
    return line.speaker == "assistant" and (_asked_which(line) or _begins(line.text, begun))


def _asked_which(line: Line) -> bool:
    return line.speaker == "assistant" and _begins(line.text, [phrases.which_of for phrases in PHRASES.values()])


def _begins(text: str, sentences: Sequence[str]) -> bool:
    """Whether one of the sentences is in the text, told by the words before what is filled in."""
    plain = text.replace("*", "")
    return any(sentence.replace("*", "").partition("{")[0] in plain for sentence in sentences)
