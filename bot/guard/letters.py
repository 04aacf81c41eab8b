"""Letters as the claim guard reads them: characters that hide, dress up or only look alike hide no word."""

import re
import unicodedata

_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼʹ′´＇‛ˈ׳ꞌ", "'"))
_FROM = "аеорсухіјѕԁһӏԛԝмткнвгαονιρτυχκεηγᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıɑɡ"
_LOOK_ALIKES = str.maketrans(_FROM, "aeopcyxijsdhlqwmtkhbraoviptuxkenyabcdefghijklmnoprstuvwyziag")
_YES = re.compile(r"\bsí(?!\w)")
_BEEN = re.compile(r"été(?!\w)")
_LAST_E = re.compile(r"é(?!\w)")
MARKUP = re.compile(r"[*~`|>\[\]\"“”„«»‹›]|(?<!\w)_|_(?!\w)|^ {0,3}#+ ", re.MULTILINE)
_KEPT_E = "\x00"
"""A placeholder for an é that stays. No text has it, since controls are removed before."""


def plain_letters(text: str) -> str:
    """The text in small letters without accents.

    An é that ends a word stays: in Spanish it distinguishes "I cancelled" from "cancel".
    """
    text = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).casefold()
    text = unicodedata.normalize("NFC", "".join(each for each in text if _is_read(each)))
    text = MARKUP.sub("", text)  # before the last é of each word is looked for
    marked = unicodedata.normalize("NFKD", _LAST_E.sub(_KEPT_E, _BEEN.sub("ete", _YES.sub("yes", text))))
    bare = "".join(each for each in marked if not unicodedata.combining(each))
    return bare.translate(_LOOK_ALIKES).replace(_KEPT_E, "é")


def _is_read(character: str) -> bool:
    """False for a character that no one sees."""
    return character in "\n\t" or unicodedata.category(character) not in ("Cf", "Cc", "Cs", "Co", "Me")
