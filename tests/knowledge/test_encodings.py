"""Texts in older encodings are read with the right letters, or left out with a reason: never with wrong ones."""

import codecs

import pytest

from knowledge.sources.encodings import decode
from knowledge.sources.files import Unfit
from knowledge.sources.reader import read_documents

TEXTS = {
    "de": "Rücksendungen sind in 30 Tagen möglich. Bitte fügen Sie die Rechnung bei – sonst dauert es länger.",
    "fr": "Les retours sont possibles pendant 30 jours. Vous êtes remboursé dès que le colis est arrivé à l’entrepôt.",
    "es": "Puede devolver el artículo en 30 días. El reembolso llegará a su cuenta en una semana, según el banco.",
    "pt": "Você pode devolver o produto em 30 dias. A devolução é grátis para os clientes que não usaram o produto.",
    "it": "È possibile rendere il prodotto entro 30 giorni. Il rimborso è accreditato più tardi, se la banca è chiusa.",
    "nl": "U kunt het product binnen 30 dagen terugsturen. De kosten zijn € 5 en één label is al bij het pakket.",
    "sv": "Du kan skicka tillbaka varan inom 30 dagar. Pengarna är på ditt konto när vi har fått och öppnat paketet.",
    "da": "Du kan sende varen tilbage inden for 30 dage. Pengene er på din konto, når vi har fået og åbnet pakken.",
    "fi": "Voit palauttaa tuotteen 30 päivän aikana. Rahat ovat tililläsi, kun olemme saaneet paketin ja se on avattu.",
    "pl": "Produkt można zwrócić w ciągu 30 dni. Pieniądze są na koncie, gdy paczka dotrze do nas i zostanie otwarta.",
    "cs": "Zboží můžete vrátit do 30 dnů. Peníze budou na vašem účtu, když balík dojde k nám a bude otevřen.",
    "hu": "A terméket 30 napon belül lehet visszaküldeni. A pénz akkor érkezik, ha a csomag már megérkezett és kész.",
    "tr": "Ürünü 30 gün içinde geri gönderebilirsiniz. Para, paket bize ulaştığında ve açıldığında hesabınıza geçer.",
    "ru": "Товар можно вернуть в течение 30 дней. Деньги поступят на ваш счёт, когда мы получим посылку и проверим её.",
    "uk": "Товар можна повернути протягом 30 днів. Гроші надійдуть на ваш рахунок, якщо ми отримаємо посилку.",
    "el": "Μπορείτε να επιστρέψετε το προϊόν σε 30 ημέρες. Τα χρήματα θα είναι στον λογαριασμό σας.",
    "ja": "商品は30日以内に返品できます。返金は荷物が届いてから一週間ほどかかります。送料は無料です。",
    "zh": "商品可以在30天内退货。我们收到包裹以后，退款会在一个星期内到您的账户。运费是免费的。",
    "ko": "상품은 30일 이내에 반품할 수 있습니다. 소포가 도착하면 환불은 일주일 안에 계좌로 들어갑니다.",
}
ENCODINGS = {
    **dict.fromkeys(("de", "fr", "es", "pt", "it", "nl", "sv", "da", "fi"), ("cp1252", "mac_roman")),
    **dict.fromkeys(("pl", "cs", "hu"), ("cp1250",)),
    "tr": ("cp1254",),
    "ru": ("cp1251", "koi8-r"),
    "uk": ("cp1251",),
    "el": ("cp1253",),
    "ja": ("cp932", "euc_jp"),
    "zh": ("gb18030",),
    "ko": ("cp949",),
}
SAMPLES = [(language, encoding) for language, encodings in ENCODINGS.items() for encoding in encodings]


@pytest.mark.parametrize(("language", "encoding"), SAMPLES)
def test_a_text_in_an_older_encoding_is_read(language: str, encoding: str) -> None:
    text = TEXTS[language]
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(("language", "encoding"), SAMPLES)
def test_no_part_of_a_text_is_read_with_wrong_letters(language: str, encoding: str) -> None:
    """Where a sentence is too short to be sure, it is left out."""
    words = TEXTS[language].split()
    for size in (3, 6, 9):
        for at in range(0, len(words) - size, 3):
            part = " ".join(words[at : at + size])
            try:
                read = decode(part.encode(encoding))
            except Unfit:
                continue
            assert read == part


@pytest.mark.parametrize("language", ["de", "ru", "ja"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le with a mark", "iso2022_jp"])
def test_a_unicode_text_is_read_whatever_it_is_said_to_be(language: str, encoding: str) -> None:
    text = TEXTS[language]
    if encoding == "iso2022_jp":
        if language == "ja":
            assert decode(text.encode("iso2022_jp"), declared=["ISO-2022-JP"]) == text
        return
    marked = encoding.endswith("mark")
    content = codecs.BOM_UTF16_LE + text.encode("utf-16-le") if marked else text.encode(encoding)
    assert decode(content, declared=["windows-1252"]) == text


def test_western_text_in_utf_16_without_a_mark_is_read() -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        assert decode(TEXTS["de"].encode(encoding)) == TEXTS["de"]


def test_what_the_server_names_comes_before_what_the_page_names_and_both_before_a_guess() -> None:
    text = "año"  # A single letter that Polish has at the same place.
    with pytest.raises(Unfit, match="save it as UTF-8"):
        decode(text.encode("cp1252"))
    assert decode(text.encode("cp1252"), declared=["ISO-8859-1", "windows-1250"]) == text
    assert decode(text.encode("cp1252"), declared=["no-such-encoding", "windows-1252"]) == text
    assert decode("ańo".encode("cp1250"), declared=["windows-1250"]) == "ańo"
    assert decode("Größe".encode(), declared=["windows-1252"]) == "Größe", "no one writes Ã¶Ã"
    assert decode("联通".encode("gbk"), declared=["gbk"]) == "联通", "its bytes are UTF-8 by chance"
    assert decode(TEXTS["ru"].encode(), declared=["windows-1252"]) == TEXTS["ru"]


def test_a_table_of_questions_that_a_spreadsheet_has_saved_is_read() -> None:
    table = "question,answer\nWie lange dauert die Rückzahlung?,Die Rückzahlung dauert fünf Tage und ist kostenlos.\n"
    (found,) = read_documents("faq.csv", ".csv", table.encode("cp1252"))
    assert "Rückzahlung dauert fünf" in getattr(found, "text", "")


def test_a_file_whose_encoding_is_not_clear_names_itself() -> None:
    (found,) = read_documents("notes/a.txt", ".txt", b"\xd0\xcf\x11\xe0\xa1\xb1")
    assert (getattr(found, "name", ""), "save it as UTF-8" in getattr(found, "reason", "")) == ("notes/a.txt", True)
