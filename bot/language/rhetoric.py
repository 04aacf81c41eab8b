"""Questions that ask nothing: they show what a customer thinks of the shop, and want no answer of their own.

is_rhetorical        the question asks what the other side is like
is_about_something   the question has a word of its own
tells_nothing        a word does not say what a question is about
names_a_number       the text may mean an order, a parcel or an amount
"""

import re

_RHETORICAL = (
    # English
    r"\b(?:kidding|joking)\b|\b(?:are|is) (?:you(?: guys| people| all)?|this) (?:\w+ )?serious\b|\bfor real\W*$",
    r"\b(?:some|a) (?:kind of |sort of |sick |bad )*joke\W*$|\bwhat the (?:hell|heck|fuck|f)\b|\bwtf\b",
    r"\bwrong with (?:you|u|these people)\b|\bwho do you think you are\b",
    r"\bhow (?:hard|difficult) can (?:it|that|this) be\b",
    r"\b(?:do|does|did|will|can) (?:you|anyone|anybody|nobody|someone|no one)(?: guys| people| all)?(?: \w+)? "
    r"(?:care|listen|understand|work|think|answer|reply)(?: (?:there|here|at all|about me|to me|me))*\W*$",
    r"\b(?:do|does|can) (?:you|anyone|anybody|someone)(?: \w+)? (?:speak|understand|write) (?:\w+ )?"
    r"(?:english|german|spanish|french|indonesian|bahasa|dutch|italian)\b",
    r"\b(?:did|have|do|can)(?:n't)? you (?:\w+ )?(?:get|got|receive|received|see|seen|read) my "
    r"(?:\w+ ){0,2}(?:messages?|e-?mails?|mails?|questions?)\W*$",
    r"\bare you (?:\w+ ){0,2}(?:real|human|person|bot|robot|machine|ai|stupid|deaf|crazy|asleep|insane)\b",
    r"\bis this (?:an? )?(?:bot|robot|machine|ai)\W*$",
    r"\bwhat(?:'s| is) going on(?: here| there)?\W*$",
    # Indonesian
    r"\b(?:bercanda|becanda|main-main|mempermainkan|yang bene?ar? (?:saja|aja))\b|\bserius(?:an)?(?: nih| sih)?\W*$",
    r"\b(?:niat|becus|bisa) kerja\b|\b(?:bisa|paham|ngerti|mengerti) (?:ber)?bahasa \w+\W*$",
    r"\b(?:baca|terima|dapat|lihat) (?:pesan|chat|e-?mail|pertanyaan) (?:saya|aku)(?: \w+){0,2}\W*$",
    # German
    r"\bwas soll(?: denn)? (?:das|der mist|der quatsch)(?: alles| hier| denn| eigentlich)*\W*$",
    r"\b(?:ihr|dein|euer) (?:voller )?ernst\b|\b(?:veräppeln|verarschen|auf den arm|zum narren)\b|\bgeht's noch\b",
    r"\b(?:letzten?|vorigen?|meine) (?:nachricht(?:en)?|e-?mails?|fragen?) (?:\w+ )?(?:bekommen|erhalten|gelesen)\W*$",
    r"\b(?:sprechen|sprichst|verstehen|verstehst|spricht|können|kann) (?:sie|du|ihr|jemand|hier jemand)(?: auch)? "
    r"(?:deutsch|englisch|spanisch|französisch|indonesisch)\b|\bwas (?:ist|stimmt)(?: denn| eigentlich)?(?: nicht)? "
    r"(?:mit euch|mit ihnen|bei euch|bei ihnen)(?: los| nicht| falsch)*\W*$",
    # Spanish
    r"\btom\w+ el pelo\b|\b(?:va |están? |es )?en serio\W*$|\bburl[aá]ndo\w*|\bse burlan?\b|\b(?:una|de) broma\b",
    r"\bqu[eé] (?:les|te|os|le) pasa\b(?! (?:con|al?) (?!ustedes|usted|vosotros))",
    r"\bmis? (?:[uú]ltimos? )?(?:mensajes?|correos?|preguntas?)(?: anterior(?:es)?)?\W*$",
    r"\b(?:habla[ns]?|habl[aá]is|entienden?) (?:espa[nñ]ol|ingl[eé]s|alem[aá]n|franc[eé]s)\b",
    # French
    r"\b(?:moquez|moques|foutez|fous|plaisantez|plaisantes|rigolez|rigoles)\b|\bune blague\b|\bs[eé]rieux\W*$",
    r"\b(?:re[cç]u|lu|vu) (?:mon|mes) (?:derniers? )?(?:messages?|mails?|e-?mails?|courriels?|questions?)\W*$",
    r"\bparle[zs]?(?:-vous|-tu)? (?:\w+ )?(?:fran[cç]ais|anglais|allemand|espagnol)\b",
)
_OF_EVERY_QUESTION = """
    about all also and another any anybody anyone are because been being but can cannot could did does doing don't
    done each else even ever every from get getting going good guys happen happening happens have having here how
    i'm into isn't it's just know let like make many maybe more much must need never not now off only other our out
    over people please really same say shall should since some somebody someone something still such sure tell than
    that that's the their them then there these they thing things think this those though through too until very
    want was well were what what's when where which while who who's whom whose why will with without would yes you
    you're your
    ada adalah agar akan aku anda apa apakah atau bagaimana begini begitu belum berapa bisa boleh bukan dan dari
    dengan dia gak gimana hanya harus ini itu jadi jika juga kak kalau kalian kami kamu kapan karena kenapa kita kok
    lagi mana masih mau mengapa mereka nggak oleh pada perlu punya saja sama sampai sangat saya sedang sekarang
    semua seperti siapa sih sudah supaya tapi tentang tidak udah untuk yang
    aber alle alles als also auch auf aus bei bin bist bitte dann das dass dein dem den denn der des dich die diese
    diesem diesen dieser dieses dir doch durch eigentlich ein eine einem einen einer eines etwas euch euer für gibt
    haben habt hast hat hatte hier ich ihm ihn ihnen ihr ihre immer ins ist jemand jetzt kann kannst kein keine
    können könnt könnte machen macht mal man mehr mein meine mich mir mit müssen nach nicht nichts noch nur oder
    ohne schon sehr seid sein sich sie sind soll sollen sollte und uns unser unter vom von vor wann warum was weil
    welche welcher welches wenn wer werden wie wieder wieso will wir wird wirklich wollen wurde würde zum zur über
    algo alguien alguna algún ante antes aquí así aunque aún bien cada como con cosa cosas cuando cuál cuáles cuándo
    cuánta cuántas cuánto cuántos cómo debe debo del desde donde dónde ella ellos entonces entre eres esa ese eso
    esta este esto estos estoy está están fue hace hacen hacer hacia hasta hay igual las les mis muy más nada nadie
    nos nosotros nunca otra otro para pero poder por porque puede pueden puedo que quién quiénes qué sea ser será
    siempre sin sobre solo son soy sus sólo también tan tanto tengo tiene tienen todo todos tú una uno unos usted
    ustedes vosotros
    ainsi alors après assez aucun aussi autre autres avec avez avoir avons bien cela celle celui ces cette ceux chez
    chose choses comme comment dans depuis des dois donc elle elles encore entre est est-ce faire fait faites faut
    font ici ils jamais jusqu leur leurs lui mais mes moi mon même n'est nos notre nous oui où par pas pendant peut
    peuvent peux plus pour pourquoi pouvez puis puis-je qu'est-ce quand que quel quelle quelles quels qui quoi rien
    sans sera ses son sont sous sur tel tous tout toute toutes très une vers vos votre voulez vous y-a-t-il à ça été
    êtes être
"""
"""English, Indonesian, German, Spanish and French words that do not say what a question is about."""

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}|[^\W_]+(?:['’-][^\W_]+)*")
"""A word. In scripts without blanks between words, two characters."""
SUBJECT_LENGTH = 3
"""Letters that a word needs at least to be what a question is about."""

_RHETORICAL_PATTERN = re.compile("|".join(_RHETORICAL), re.IGNORECASE)
_TELLS_NOTHING = frozenset(_OF_EVERY_QUESTION.split())


def is_rhetorical(question: str) -> bool:
    """True if it asks what the other side is like. A question with a number in it is about the number."""
    return not names_a_number(question) and bool(_RHETORICAL_PATTERN.search(question))


def is_about_something(question: str) -> bool:
    """True if it has a number, or a word besides those that every question is made of."""
    words = (word.casefold() for word in WORD.findall(question))
    return names_a_number(question) or any(
        (len(word) >= SUBJECT_LENGTH or not word.isascii()) and word not in _TELLS_NOTHING for word in words
    )


def tells_nothing(word: str) -> bool:
    """True for a word, in lower case, of which every question is made."""
    return word in _TELLS_NOTHING


def names_a_number(text: str) -> bool:
    """True if the text has a digit."""
    return any(character.isdigit() for character in text)
