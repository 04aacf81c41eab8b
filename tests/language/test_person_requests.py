"""A person is called in every language that the assistant speaks, and nobody is for an ordinary question."""

from bot.desk import policy
from bot.language.languages import Language

PERSON: dict[Language, tuple[str, ...]] = {
    "en": (
        "I need a human",
        "I want a person",
        "I'd like an agent",
        "can a human help me?",
        "could I have a human, please?",
        "let me speak to a person",
        "let me talk to your manager",
        "connect me to support",
        "can someone from your team call me",
        "is there a human?",
        "no bots please",
        "I don't want to talk to a bot",
        "customer service",
        "*Human!!*",
        "talk\nto a  human",
    ),
    "id": (
        "manusia",
        "admin dong",
        "minta admin",
        "butuh bantuan manusia",
        "saya mau bicara dengan manusia",
        "saya ingin berbicara dengan staf",
        "tolong panggilkan admin",
        "mau chat sama CS",
        "bisa bicara dengan customer service?",
    ),
    "de": (
        "Mensch",
        "Mitarbeiter bitte",
        "einen Menschen bitte",
        "Ich will einen Menschen",
        "Ich brauche einen Mitarbeiter",
        "Verbinden Sie mich mit einem Mitarbeiter",
        "Ich will mit dem Support sprechen",
        "echter Mensch",
        "Gibt es hier einen Menschen?",
        "Kundenberater",
    ),
    "es": (
        "humano",
        "agente por favor",
        "un humano por favor",
        "quiero un humano",
        "necesito una persona",
        "póngame con un agente",
        "comuníqueme con un agente",
        "quiero hablar con un ser humano",
        "atención al cliente por favor",
    ),
    "fr": (
        "humain",
        "un conseiller svp",
        "je veux un humain",
        "je voudrais un conseiller, c'est urgent",
        "passez-moi un conseiller",
        "mettez-moi en relation avec un conseiller",
        "parler au service client",
        "personne réelle",
    ),
}
SENSITIVE: dict[Language, tuple[str, ...]] = {
    "en": (
        "I want a chargeback",
        "I will dispute the charge with my bank",
        "You will hear from my lawyers",
        "I am going to sue",
        "See you in small claims court",
        "someone stole my identity",
        "I'll report you to the police",
        "the battery caught fire",
        "the charger exploded",
        "there's smoke coming from the charger",
        "it burned my hand",
        "my child swallowed a part",
        "I got an electric shock",
        "my son is in hospital because of it",
        "I want to kill myself",
    ),
    "id": (
        "pengacara saya akan menghubungi kalian",
        "saya akan lapor polisi",
        "ini penipuan",
        "akun saya diretas",
        "baterainya meledak",
        "anak saya terluka",
        "saya kesetrum",
    ),
    "de": (
        "Mein Anwalt meldet sich",
        "ich verklage Sie",
        "Ich mache eine Rückbuchung",
        "das sind Betrüger",
        "mein Konto wurde gehackt",
        "der Akku ist explodiert",
        "ich habe einen Stromschlag bekommen",
        "mein Kind wurde verletzt",
    ),
    "es": (
        "mi abogado les escribirá",
        "voy a demandarles",
        "pediré un contracargo",
        "han hackeado mi cuenta",
        "la batería explotó",
        "se prendió fuego",
        "recibí una descarga eléctrica",
        "mi hijo se lastimó",
    ),
    "fr": (
        "mon avocat vous écrira",
        "je vais porter plainte",
        "je demande une rétrofacturation",
        "mon compte a été piraté",
        "la batterie a explosé",
        "ça a pris feu",
        "mon enfant est blessé",
        "j'ai reçu un choc électrique",
    ),
}
ORDINARY = (
    "Do I need a person at home to sign?",
    "Can another person pick up the parcel?",
    "Can I have a tent for one person?",
    "I need a 2 person tent",
    "I need support poles for my tent",
    "Can somebody else use my gift card?",
    "I like the person on the poster",
    "Can I get help with my order?",
    "Is the lamp safe for children?",
    "Does it burn easily?",
    "Do you sell fire extinguishers?",
    "Is the cream good for people with allergies?",
    "Can you ship to the hospital?",
    "My parcel was stolen",
    "biaya admin berapa?",
    "orang tua saya mau pesan",
    "apakah tidak mudah terbakar?",
    "Gibt es Mitarbeiterrabatt?",
    "Wie viele Personen passen in das Zelt?",
    "Ich möchte einen Ansprechpartner eintragen",
    "Ist das Material brennbar?",
    "¿Puede recogerlo otra persona?",
    "quiero una tienda para una persona",
    "robaron mi paquete",
    "Une tente pour une personne",
    "je voudrais un agent nettoyant",
    "je veux un support de vélo",
    "l'agent de livraison a perdu mon colis",
    "de l'huile d'avocat",
)


def each(words: dict[Language, tuple[str, ...]]) -> list[str]:
    return [text for texts in words.values() for text in texts]


def test_a_person_is_asked_for_in_every_language() -> None:
    misses = [text for text in each(PERSON) if not policy.asks_for_person(text)]
    assert misses == []


def test_law_disputes_and_harm_go_to_a_person_in_every_language() -> None:
    misses = [text for text in each(SENSITIVE) if not policy.needs_person(text)]
    assert misses == []


def test_nobody_is_called_for_an_ordinary_question() -> None:
    misses = [text for text in ORDINARY if policy.asks_for_person(text) or policy.needs_person(text)]
    assert misses == []
