"""Who tells danger: a few turns of speech of each class, in five languages. More than these it does not know."""

import re

from demo.model.conversation import Reply, Talk

NONE = "none"
"""What is said of a message that shows none of the classes."""

_MESSAGE = re.compile(r"<message>\s*(.*?)\s*</message>", re.DOTALL)
_SAID = {
    "crisis": re.compile(
        r"no way out|can'?t (?:go on|do this) any\s?more|better off if i|kein(?:en)? ausweg|kann nicht mehr weiter|"
        r"no puedo seguir así|no le veo salida|je n'en peux plus|aucune issue|tidak sanggup lagi|sudah tidak kuat",
        re.IGNORECASE,
    ),
    "harm": re.compile(
        r"call(?:ed|ing)? an ambulance|not breathing|won't wake up|rettungswagen|ambulancia|ambulance|tidak sadarkan",
        re.IGNORECASE,
    ),
    "threat": re.compile(
        r"outside my (?:house|door|window)|vor meine[rm] (?:tür|haus|fenster)|delante de mi casa|devant chez moi|"
        r"di depan rumah saya",
        re.IGNORECASE,
    ),
    "fraud": re.compile(
        r"read (?:him|her|them) the code|den code (?:durchgegeben|vorgelesen)|le di el código|donné le code|"
        r"memberikan kode",
        re.IGNORECASE,
    ),
    "legal": re.compile(r"solicitor|small claims|schlichtungsstelle|juzgado|huissier|somasi", re.IGNORECASE),
}
"""Class, the gravest first -> what is said in it."""


def tell_danger(talk: Talk) -> Reply:
    """The class of the message, which comes marked; unmarked, the whole text is the message."""
    found = _MESSAGE.search(talk.whole)
    message = found[1] if found else talk.whole
    return Reply(next((name for name, said in _SAID.items() if said.search(message)), NONE))
