"""What the stand-in says, in the five languages it knows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phrases:
    """One language. Words in braces are filled in."""

    greeting: str
    thanks: str
    farewell: str
    abilities: str
    """What the assistant is and can do, in one question."""
    ask_back: str
    """When nothing in the message tells what it is about; a question and nothing else."""
    person_offer: str
    """Ends every answer that could not help; a yes to it calls a person."""
    person_missing: str
    """When a person is wanted and no tool for it is offered."""
    unknown: str
    part_open: str
    """{question}; one of several that could not be answered."""
    quote: str
    """{page}"""
    quote_foreign: str
    """{page}; the page is in English and the customer's language is not."""
    order: str
    """{order} {status}"""
    unshipped: str
    placed: str
    """{placed} {total}"""
    payment: str
    """{status}"""
    articles: str
    """{articles}"""
    listed: str
    no_orders: str
    parcel: str
    """{number} {carrier} {status}"""
    scan: str
    """{what} {at}"""
    expected: str
    """{expected}"""
    sorry: str
    order_missing: str
    """{order}"""
    parcel_missing: str
    """{number}"""
    no_order_data: str
    shop_silent: str
    tracking_silent: str
    """{number}"""
    which_order: str
    order_states: Mapping[str, str]
    parcel_states: Mapping[str, str]
    payment_states: Mapping[str, str]
    """Those of which something is known."""
    months: tuple[str, ...]
    """Twelve, as they stand between a day and a year."""


_ENGLISH_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

PHRASES: Mapping[str, Phrases] = {
    "en": Phrases(
        greeting="Hello! I can look up your orders and parcels and answer from our help pages. What can I do for you?",
        thanks="You're welcome! Write again whenever you need something.",
        farewell="Goodbye! Write again whenever you need something.",
        abilities="I am a program that looks up your orders and parcels and answers from our help pages: what can "
        "I do for you?",
        ask_back="What can I help you with: an order, a parcel, or something about the shop?",
        person_offer="Shall I bring in a person?",
        person_missing='A person can take this over: please press "Talk to a person".',
        unknown="I could not find this in our help pages, and I would rather not guess.",
        part_open="I could not find out this part: “{question}”",
        quote="Our help page **{page}** says:",
        quote_foreign="Our help page **{page}** says:",
        order="**{order}** {status}.",
        unshipped="It has no tracking number yet; you get one as soon as the carrier has the parcel.",
        placed="You placed it on {placed}, the total is {total}.",
        payment="Payment: {status}.",
        articles="In it: {articles}.",
        listed="Your latest orders:",
        no_orders="There are no orders under your account yet.",
        parcel="Parcel {number} ({carrier}) {status}.",
        scan="Latest scan: “{what}”, {at}.",
        expected="Expected on {expected}.",
        sorry="I am sorry about that.",
        order_missing="I cannot find **{order}** among your orders. Could you check the number, please?",
        parcel_missing="I cannot find parcel {number} among your orders. Could you check the number, please?",
        no_order_data="I cannot see any orders for you here.",
        shop_silent="Our order system is not answering at the moment, so I cannot see this right now.",
        tracking_silent="I cannot see where parcel {number} is at the moment: its tracking does not answer.",
        which_order="Which order is it? Its number starts with ORD, as in your confirmation e-mail.",
        order_states={
            "pending": "has been received and waits for the payment",
            "processing": "is being packed",
            "partly_shipped": "has been shipped in part",
            "shipped": "has been shipped",
            "delivered": "has been delivered",
            "cancelled": "has been cancelled",
            "returned": "has come back to us",
            "refunded": "has been refunded",
            "unknown": "has a status that I cannot read",
        },
        parcel_states={
            "label_created": "has been announced, but the carrier does not have it yet",
            "in_transit": "is on its way",
            "out_for_delivery": "is out for delivery today",
            "delivery_attempted": "could not be handed over; the carrier will try again",
            "ready_for_pickup": "is waiting to be picked up",
            "delivered": "has been delivered",
            "delayed": "is delayed",
            "lost": "has been declared lost by the carrier",
            "returning": "is on its way back to us",
            "returned": "has come back to us",
            "unknown": "has a status that I cannot read",
        },
        payment_states={
            "unpaid": "not received yet",
            "paid": "received",
            "partly_refunded": "refunded in part",
            "refunded": "refunded",
            "failed": "failed",
        },
        months=_ENGLISH_MONTHS,
    ),
    "id": Phrases(
        greeting="Halo! Saya bisa mengecek pesanan dan paket Anda, serta menjawab dari halaman bantuan kami. "
        "Ada yang bisa saya bantu?",
        thanks="Sama-sama! Silakan tulis lagi kapan saja.",
        farewell="Sampai jumpa! Silakan tulis lagi kapan saja.",
        abilities="Saya program yang mengecek pesanan dan paket Anda serta menjawab dari halaman bantuan kami: "
        "ada yang bisa saya bantu?",
        ask_back="Apa yang bisa saya bantu: pesanan, paket, atau hal lain tentang toko kami?",
        person_offer="Mau saya hubungkan dengan tim kami?",
        person_missing='Tim kami bisa membantu langsung: silakan tekan "Talk to a person".',
        unknown="Saya tidak menemukan jawabannya di halaman bantuan kami, dan saya tidak mau menebak.",
        part_open="Bagian ini belum bisa saya jawab: “{question}”",
        quote="Halaman bantuan kami **{page}** menyebutkan:",
        quote_foreign="Halaman bantuan kami **{page}** menyebutkan (dalam bahasa Inggris):",
        order="Pesanan **{order}** {status}.",
        unshipped="Nomor resinya belum ada; Anda akan menerimanya begitu paket diserahkan ke kurir.",
        placed="Dipesan pada {placed}, totalnya {total}.",
        payment="Pembayaran: {status}.",
        articles="Isinya: {articles}.",
        listed="Pesanan terakhir Anda:",
        no_orders="Belum ada pesanan di akun Anda.",
        parcel="Paket {number} ({carrier}) {status}.",
        scan="Catatan terakhir kurir: “{what}”, {at}.",
        expected="Perkiraan tiba {expected}.",
        sorry="Kami mohon maaf atas hal ini.",
        order_missing="Saya tidak menemukan **{order}** di antara pesanan Anda. Bisa tolong dicek lagi nomornya?",
        parcel_missing="Saya tidak menemukan paket {number} di antara pesanan Anda. Bisa tolong dicek lagi nomornya?",
        no_order_data="Saya tidak bisa melihat data pesanan Anda di sini.",
        shop_silent="Sistem pesanan kami sedang tidak menjawab, jadi saya belum bisa mengeceknya sekarang.",
        tracking_silent="Saat ini saya belum bisa melihat posisi paket {number}: pelacakannya tidak menjawab.",
        which_order="Pesanan yang mana? Nomornya diawali ORD, seperti di email konfirmasi Anda.",
        order_states={
            "pending": "sudah kami terima dan menunggu pembayaran",
            "processing": "sedang dikemas",
            "partly_shipped": "sudah dikirim sebagian",
            "shipped": "sudah dikirim",
            "delivered": "sudah sampai",
            "cancelled": "sudah dibatalkan",
            "returned": "sudah kembali kepada kami",
            "refunded": "sudah dikembalikan dananya",
            "unknown": "berstatus yang tidak bisa saya baca",
        },
        parcel_states={
            "label_created": "sudah didaftarkan, tetapi belum diterima kurir",
            "in_transit": "sedang dalam perjalanan",
            "out_for_delivery": "sedang diantar hari ini",
            "delivery_attempted": "belum berhasil diserahkan; kurir akan mencoba lagi",
            "ready_for_pickup": "siap diambil",
            "delivered": "sudah sampai",
            "delayed": "terlambat",
            "lost": "dinyatakan hilang oleh kurir",
            "returning": "sedang dikembalikan kepada kami",
            "returned": "sudah kembali kepada kami",
            "unknown": "berstatus yang tidak bisa saya baca",
        },
        payment_states={
            "unpaid": "belum kami terima",
            "paid": "sudah kami terima",
            "partly_refunded": "sebagian sudah dikembalikan",
            "refunded": "sudah dikembalikan",
            "failed": "gagal",
        },
        months=("Jan", "Feb", "Mar", "Apr", "Mei", "Jun", "Jul", "Agu", "Sep", "Okt", "Nov", "Des"),
    ),
    "de": Phrases(
        greeting="Hallo! Ich kann Ihre Bestellungen und Pakete nachsehen und aus unseren Hilfeseiten antworten. "
        "Was kann ich für Sie tun?",
        thanks="Gern geschehen! Schreiben Sie jederzeit wieder.",
        farewell="Auf Wiedersehen! Schreiben Sie jederzeit wieder.",
        abilities="Ich bin ein Programm, das Ihre Bestellungen und Pakete nachsieht und aus unseren Hilfeseiten "
        "antwortet: Was kann ich für Sie tun?",
        ask_back="Worum geht es: um eine Bestellung, ein Paket oder etwas anderes zum Shop?",
        person_offer="Soll ich jemanden aus dem Team dazuholen?",
        person_missing="Jemand aus dem Team kann das übernehmen: Bitte drücken Sie „Talk to a person“.",
        unknown="Dazu habe ich auf unseren Hilfeseiten nichts gefunden, und raten möchte ich nicht.",
        part_open="Das habe ich nicht herausfinden können: „{question}“",
        quote="Auf unserer Hilfeseite **{page}** steht:",
        quote_foreign="Auf unserer Hilfeseite **{page}** steht (auf Englisch):",
        order="Ihre Bestellung **{order}** {status}.",
        unshipped="Eine Sendungsnummer gibt es noch nicht; Sie bekommen sie, sobald das Paket beim Zusteller ist.",
        placed="Bestellt am {placed}, Gesamtbetrag {total}.",
        payment="Zahlung: {status}.",
        articles="Darin: {articles}.",
        listed="Ihre letzten Bestellungen:",
        no_orders="In Ihrem Konto gibt es noch keine Bestellungen.",
        parcel="Das Paket {number} ({carrier}) {status}.",
        scan="Letzte Meldung: „{what}“, {at}.",
        expected="Voraussichtlich da am {expected}.",
        sorry="Das tut mir leid.",
        order_missing="**{order}** finde ich unter Ihren Bestellungen nicht. Würden Sie die Nummer bitte prüfen?",
        parcel_missing="Das Paket {number} finde ich unter Ihren Bestellungen nicht. "
        "Würden Sie die Nummer bitte prüfen?",
        no_order_data="Ich kann hier keine Bestellungen für Sie sehen.",
        shop_silent="Unser Bestellsystem antwortet gerade nicht, deshalb kann ich das im Moment nicht sehen.",
        tracking_silent="Wo das Paket {number} ist, kann ich gerade nicht sehen: "
        "Die Sendungsverfolgung antwortet nicht.",
        which_order="Um welche Bestellung geht es? Die Nummer beginnt mit ORD, wie in Ihrer Bestätigungsmail.",
        order_states={
            "pending": "ist eingegangen und wartet auf die Zahlung",
            "processing": "wird gerade gepackt",
            "partly_shipped": "ist zum Teil verschickt",
            "shipped": "ist verschickt",
            "delivered": "ist zugestellt",
            "cancelled": "ist storniert",
            "returned": "ist wieder bei uns",
            "refunded": "ist erstattet",
            "unknown": "hat einen Status, den ich nicht lesen kann",
        },
        parcel_states={
            "label_created": "ist angekündigt, liegt dem Zusteller aber noch nicht vor",
            "in_transit": "ist unterwegs",
            "out_for_delivery": "wird heute zugestellt",
            "delivery_attempted": "konnte nicht übergeben werden; es gibt einen weiteren Versuch",
            "ready_for_pickup": "liegt zur Abholung bereit",
            "delivered": "ist zugestellt",
            "delayed": "verspätet sich",
            "lost": "gilt beim Zusteller als verloren",
            "returning": "ist auf dem Weg zurück zu uns",
            "returned": "ist wieder bei uns",
            "unknown": "hat einen Status, den ich nicht lesen kann",
        },
        payment_states={
            "unpaid": "noch nicht eingegangen",
            "paid": "eingegangen",
            "partly_refunded": "zum Teil erstattet",
            "refunded": "erstattet",
            "failed": "fehlgeschlagen",
        },
        months=("Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."),
    ),
    "es": Phrases(
        greeting="¡Hola! Puedo consultar sus pedidos y paquetes y responder con nuestras páginas de ayuda. "
        "¿En qué le ayudo?",
        thanks="¡De nada! Escriba de nuevo cuando quiera.",
        farewell="¡Hasta luego! Escriba de nuevo cuando quiera.",
        abilities="Soy un programa que consulta sus pedidos y paquetes y responde con nuestras páginas de ayuda: "
        "¿en qué le ayudo?",
        ask_back="¿De qué se trata: de un pedido, de un paquete o de otra cosa sobre la tienda?",
        person_offer="¿Quiere que avise a una persona del equipo?",
        person_missing="Una persona puede ocuparse: pulse «Talk to a person», por favor.",
        unknown="No he encontrado esto en nuestras páginas de ayuda y prefiero no adivinar.",
        part_open="Esto no lo he podido averiguar: «{question}»",
        quote="Nuestra página de ayuda **{page}** dice:",
        quote_foreign="Nuestra página de ayuda **{page}** dice (en inglés):",
        order="Su pedido **{order}** {status}.",
        unshipped="Aún no tiene número de seguimiento; lo recibirá en cuanto el transportista tenga el paquete.",
        placed="Lo hizo el {placed}; el total es {total}.",
        payment="Pago: {status}.",
        articles="Contiene: {articles}.",
        listed="Sus últimos pedidos:",
        no_orders="Todavía no hay pedidos en su cuenta.",
        parcel="El paquete {number} ({carrier}) {status}.",
        scan="Último registro: «{what}», {at}.",
        expected="Llegada prevista: {expected}.",
        sorry="Lo siento mucho.",
        order_missing="No encuentro **{order}** entre sus pedidos. ¿Puede comprobar el número, por favor?",
        parcel_missing="No encuentro el paquete {number} entre sus pedidos. ¿Puede comprobar el número, por favor?",
        no_order_data="Aquí no puedo ver pedidos suyos.",
        shop_silent="Nuestro sistema de pedidos no responde en este momento, así que ahora no puedo verlo.",
        tracking_silent="Ahora mismo no puedo ver dónde está el paquete {number}: el seguimiento no responde.",
        which_order="¿De qué pedido se trata? El número empieza por ORD, como en su correo de confirmación.",
        order_states={
            "pending": "está recibido y espera el pago",
            "processing": "se está preparando",
            "partly_shipped": "está enviado en parte",
            "shipped": "está enviado",
            "delivered": "está entregado",
            "cancelled": "está cancelado",
            "returned": "ha vuelto a nosotros",
            "refunded": "está reembolsado",
            "unknown": "tiene un estado que no puedo leer",
        },
        parcel_states={
            "label_created": "está anunciado, pero el transportista aún no lo tiene",
            "in_transit": "está en camino",
            "out_for_delivery": "está en reparto hoy",
            "delivery_attempted": "no se pudo entregar; habrá otro intento",
            "ready_for_pickup": "está listo para recoger",
            "delivered": "está entregado",
            "delayed": "va con retraso",
            "lost": "consta como perdido",
            "returning": "viene de vuelta a nosotros",
            "returned": "ha vuelto a nosotros",
            "unknown": "tiene un estado que no puedo leer",
        },
        payment_states={
            "unpaid": "aún no recibido",
            "paid": "recibido",
            "partly_refunded": "reembolsado en parte",
            "refunded": "reembolsado",
            "failed": "fallido",
        },
        months=("ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"),
    ),
    "fr": Phrases(
        greeting="Bonjour ! Je peux consulter vos commandes et vos colis et répondre à partir de nos pages d'aide. "
        "Que puis-je faire pour vous ?",
        thanks="Avec plaisir ! Écrivez-moi quand vous voulez.",
        farewell="Au revoir ! Écrivez-moi quand vous voulez.",
        abilities="Je suis un programme qui consulte vos commandes et vos colis et répond à partir de nos pages "
        "d'aide : que puis-je faire pour vous ?",
        ask_back="De quoi s'agit-il : d'une commande, d'un colis ou d'autre chose à propos de la boutique ?",
        person_offer="Voulez-vous que j'appelle une personne de l'équipe ?",
        person_missing="Une personne peut s'en charger : appuyez sur « Talk to a person », s'il vous plaît.",
        unknown="Je n'ai pas trouvé cela dans nos pages d'aide et je préfère ne pas deviner.",
        part_open="Je n'ai pas pu trouver ceci : « {question} »",
        quote="Notre page d'aide **{page}** indique :",
        quote_foreign="Notre page d'aide **{page}** indique (en anglais) :",
        order="Votre commande **{order}** {status}.",
        unshipped="Elle n'a pas encore de numéro de suivi ; vous le recevrez dès que le transporteur aura le colis.",
        placed="Passée le {placed}, pour un total de {total}.",
        payment="Paiement : {status}.",
        articles="Elle contient : {articles}.",
        listed="Vos dernières commandes :",
        no_orders="Il n'y a pas encore de commande sur votre compte.",
        parcel="Le colis {number} ({carrier}) {status}.",
        scan="Dernier passage : « {what} », {at}.",
        expected="Arrivée prévue le {expected}.",
        sorry="J'en suis désolé.",
        order_missing="Je ne trouve pas **{order}** parmi vos commandes. "
        "Pouvez-vous vérifier le numéro, s'il vous plaît ?",
        parcel_missing="Je ne trouve pas le colis {number} parmi vos commandes. "
        "Pouvez-vous vérifier le numéro, s'il vous plaît ?",
        no_order_data="Je ne peux voir aucune commande pour vous ici.",
        shop_silent="Notre système de commandes ne répond pas pour l'instant, je ne peux donc pas le voir.",
        tracking_silent="Je ne peux pas voir où est le colis {number} pour l'instant : le suivi ne répond pas.",
        which_order="De quelle commande s'agit-il ? Son numéro commence par ORD, comme dans l'e-mail de confirmation.",
        order_states={
            "pending": "est reçue et attend le paiement",
            "processing": "est en préparation",
            "partly_shipped": "est expédiée en partie",
            "shipped": "est expédiée",
            "delivered": "est livrée",
            "cancelled": "est annulée",
            "returned": "nous est revenue",
            "refunded": "est remboursée",
            "unknown": "a un statut que je ne peux pas lire",
        },
        parcel_states={
            "label_created": "est annoncé, mais le transporteur ne l'a pas encore",
            "in_transit": "est en route",
            "out_for_delivery": "est en cours de livraison aujourd'hui",
            "delivery_attempted": "n'a pas pu être remis ; il y aura un autre essai",
            "ready_for_pickup": "est prêt à être retiré",
            "delivered": "est livré",
            "delayed": "a du retard",
            "lost": "est déclaré perdu par le transporteur",
            "returning": "nous revient",
            "returned": "nous est revenu",
            "unknown": "a un statut que je ne peux pas lire",
        },
        payment_states={
            "unpaid": "pas encore reçu",
            "paid": "reçu",
            "partly_refunded": "remboursé en partie",
            "refunded": "remboursé",
            "failed": "échoué",
        },
        months=(
            "janv.",
            "févr.",
            "mars",
            "avr.",
            "mai",
            "juin",
            "juil.",
            "août",
            "sept.",
            "oct.",
            "nov.",
            "déc.",
        ),
    ),
}

_DATE = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(_ENGLISH_MONTHS)}) (\d{{4}})\b")


def dated(text: str, language: str) -> str:
    """The text with its dates written as the language does."""
    months = PHRASES[language].months
    day = "{}. {} {}" if language == "de" else "{} {} {}"
    return _DATE.sub(lambda m: day.format(m[1], months[_ENGLISH_MONTHS.index(m[2])], m[3]), text)
