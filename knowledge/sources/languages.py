"""The letters and the commonest words of languages that have texts in older encodings: what encodings.py decides by."""

from dataclasses import dataclass, field

_WESTERN = ("cp1252", "mac_roman", "cp850")
_CENTRAL = ("cp1250", "iso8859-2", "cp852")
_CYRILLIC = ("cp1251", "koi8-r", "koi8-u", "iso8859-5", "cp866")


@dataclass(frozen=True, slots=True)
class Language:
    """One language, as far as it tells encodings apart."""

    code: str
    """The language tag. Only people read it."""
    letters: str
    """Its letters beyond ASCII, or the first and the last of each range of its script."""
    encodings: tuple[str, ...]
    """The older encodings in which there are texts in this language."""
    words: frozenset[str]
    """Its commonest small words."""
    is_latin: bool = True
    has_case: bool = True
    has_spaces: bool = True
    """Whether there are spaces between words."""
    common: frozenset[str] = field(default_factory=frozenset)
    """The commonest letters of a script of its own."""
    common_share: float = 0.0
    """The share that these have of all letters at least."""
    ranges: tuple[tuple[str, str], ...] = ()

    def has(self, character: str) -> bool:
        """Whether a character beyond ASCII is a letter of the language."""
        return character.lower() in self.letters or any(first <= character <= last for first, last in self.ranges)


def _latin(code: str, letters: str, encodings: tuple[str, ...], words: str) -> Language:
    return Language(code, letters, encodings, frozenset(words.split()))


def _script(
    code: str, letters: str, encodings: tuple[str, ...], words: str, *, common: str, share: float, cased: bool = True
) -> Language:
    """A language with an alphabet of its own."""
    return Language(
        code,
        letters,
        encodings,
        frozenset(words.split()),
        is_latin=False,
        has_case=cased,
        common=frozenset(common),
        common_share=share,
    )


def _dense(
    code: str, ranges: tuple[tuple[str, str], ...], encodings: tuple[str, ...], *, common: str, share: float
) -> Language:
    """A language without spaces between words, or one whose endings are written together with them."""
    return Language(
        code,
        "",
        encodings,
        frozenset(),
        is_latin=False,
        has_case=False,
        has_spaces=False,
        common=frozenset(common),
        common_share=share,
        ranges=ranges,
    )


_RUSSIAN = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя№"

LANGUAGES = (
    _latin("en", "éèêëïöüñçàáíóôâœæ", _WESTERN, "the of and to in is for on you your that with it are be or we as by"),
    _latin(
        "de",
        "äöüßéèà",
        _WESTERN,
        "der die das und ist nicht mit sie von zu den ein eine einen für auf im wir ihr ihre wird bei oder auch als",
    ),
    _latin(
        "fr",
        "àâçèéêëîïôùûüœæÿ",
        _WESTERN,
        "le la les de des du et est un une pour dans que qui vous votre vos ne pas par sur avec en au aux nous ou il",
    ),
    _latin(
        "es",
        "áéíóúñü¿¡ç",
        _WESTERN,
        "el la los las de del y que en un una es por para con su no se al lo como más si o sus",
    ),
    _latin(
        "pt",
        "ãõçáéíóúâêôàü",
        _WESTERN,
        "o a os as de do da dos das e que em um uma é por para com não se no na ao seu sua ou mais como",
    ),
    _latin(
        "it",
        "àèéìòùíóú",
        _WESTERN,
        "il lo la i gli le di del della e che un una è per con non si da in al alla sono o su come",
    ),
    _latin(
        "nl", "ëïéèöüáóêç", _WESTERN, "de het een en van is niet met u uw op te voor dat wij zijn bij of die als om"
    ),
    _latin(
        "sv", "åäöéü", _WESTERN, "och att det som en ett på är av för med den till inte du din vi kan om eller har i"
    ),
    _latin("da", "æøåéäöü", _WESTERN, "og at det som en et på er af for med den til ikke du din vi kan om eller har i"),
    _latin(
        "nb", "æøåéòôäö", _WESTERN, "og at det som en et på er av for med den til ikke du din vi kan om eller har i"
    ),
    _latin("fi", "äöåéš", _WESTERN, "ja on ei että se tai joka voit kun jos ovat sen myös kuin mutta ole tämä meille"),
    _latin("is", "áéíóúýþæöð", _WESTERN, "og að er í á sem til við um ekki en það með af fyrir þú eða frá"),
    _latin("ca", "àèéíïòóúüçñ·", _WESTERN, "el la els les de del i que en un una és per amb no es al seu o si com més"),
    _latin(
        "id", "é", _WESTERN, "yang dan di untuk dengan anda ini itu tidak dari pada ke dalam akan atau adalah kami bisa"
    ),
    _latin(
        "pl",
        "ąćęłńóśźż",
        _CENTRAL,
        "i w na z do nie się jest to że o od po dla przez jak lub są co za może oraz przy ten",
    ),
    _latin(
        "cs",
        "áčďéěíňóřšťúůýžö",
        _CENTRAL,
        "a v na je se s z do že o pro k za to nebo po od i při které jsou by jak není si",
    ),
    _latin(
        "sk",
        "áäčďéíĺľňóôŕšťúýž",
        _CENTRAL,
        "a v na je sa s z do že o pre k za to alebo po od i pri ktoré sú by ako nie si",
    ),
    _latin("hu", "áéíóöőúüű", _CENTRAL, "a az és hogy nem egy is van ha meg vagy kell lehet el már csak mint ez"),
    _latin("hr", "čćžšđ", _CENTRAL, "i u na je se za da s od su o ne koji ili do iz biti nije kao ako po"),
    _latin("sl", "čšž", _CENTRAL, "in v na je se za da z od so o ne ki ali do iz ni kot če po pri bo"),
    _latin("ro", "ăâîşţ", _CENTRAL, "de la în și şi a cu nu pe din este sau pentru că un o se care mai prin să"),
    _latin(
        "tr",
        "çğıöşüîâ\u0307",
        ("cp1254",),
        "ve bir bu için ile de da olarak değil veya daha çok var ne gibi en o kadar sonra her",
    ),
    _latin("et", "äöõüšž", ("cp1257",), "ja on ei et see või kui ka mis oma teie meie siis kes ning aga"),
    _latin("lv", "āčēģīķļņšūž", ("cp1257",), "un ir no ar uz par ka vai kas to lai pie ja nav tas jūs"),
    _latin("lt", "ąčęėįšųūž", ("cp1257",), "ir yra į iš su kad ne už arba tai jei kaip nuo per bus prie jūs"),
    _script(
        "ru",
        _RUSSIAN,
        _CYRILLIC,
        "и в не на что с по для это как вы из к если или от за мы а у о при ваш",
        common="оеаинтср",
        share=0.4,
    ),
    _script(
        "uk",
        "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя№",
        _CYRILLIC,
        "і в не на що з по для це як ви із до якщо або від за ми та у є при ваш",
        common="оаинтіер",
        share=0.4,
    ),
    _script(
        "bg",
        "абвгдежзийклмнопрстуфхцчшщъьюя№",
        _CYRILLIC,
        "и в не на че с по за да се от е са ще или като ако ви до при това",
        common="аоеитнср",
        share=0.4,
    ),
    _script(
        "el",
        "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ",
        ("cp1253", "iso8859-7"),
        "και το η ο να της του με για την τα σε από είναι που θα στο δεν ή σας",
        common="αοιετσνη",
        share=0.4,
    ),
    _script(
        "he",
        "אבגדהוזחטיךכלםמןנסעףפץצקרשת",
        ("cp1255", "iso8859-8"),
        "של את לא על או עם זה אם כי גם הוא לך אל כל יש היא אנחנו",
        common="ויהלאמרת",
        share=0.4,
        cased=False,
    ),
    _script(
        "ar",
        "ءآأؤإئابةتثجحخدذرزسشصضطظعغـفقكلمنهوىيًٌٍَُِّْ،؛؟",
        ("cp1256", "iso8859-6"),
        "في من على أن إلى هذا لا أو مع هذه التي عن ما هو إذا لم كل",
        common="اليمنورت",
        share=0.4,
        cased=False,
    ),
    _dense(
        "ja",
        (("\u3000", "\u30ff"), ("\u3220", "\u33ff"), ("\u4e00", "\u9fff"), ("\uff01", "\uff5e"), ("\u2010", "\u25ff")),
        ("cp932", "euc_jp"),
        common="のにはをたがでてとしれさいるなンスー",
        share=0.2,
    ),
    _dense(
        "zh",
        (("\u3000", "\u303f"), ("\u4e00", "\u9fff"), ("\uff01", "\uff5e"), ("\u2010", "\u25ff")),
        ("gb18030", "cp950"),
        common="的一是不了在人有我他这中大来上国个到说们为子和你地出也时年得就要下以生会自之过可后"
        "這個國來說們為時會過後對請您用能您如果可以我们們及或与與单單订訂货貨件退款品日内內",
        share=0.12,
    ),
    _dense(
        "ko",
        (("\u3000", "\u303f"), ("\uac00", "\ud7a3"), ("\u3131", "\u318e"), ("\uff01", "\uff5e"), ("\u2010", "\u25ff")),
        ("cp949",),
        common="이다는을에의가고를은로하지도니사한서기시",
        share=0.2,
    ),
)
"""Languages in the order in which they are tried. The order decides nothing."""
