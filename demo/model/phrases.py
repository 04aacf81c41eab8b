"""What the stand-in says, in the five languages it knows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from demo.model.intents import Change, Chat


@dataclass(frozen=True, slots=True)
class Phrases:
    """One language. Words in braces are filled in."""

    greeting: str
    thanks: str
    farewell: str
    chats: Mapping[Chat, str]
    """What is said to those who talk about the assistant, each in one question."""
    unsure: str
    """{pages}; when no page fits well. A question and nothing else."""
    either: str
    """Stands between the things of which one is meant."""
    which_of: str
    """{orders}; when it may be any of them."""
    image_unread: str
    """{sizes}; of an image that the customer sent."""
    image_unseen: str
    """Of an image that the customer sent and the model did not get."""
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
    total: str
    """{order} {placed} {total}"""
    ships_to: str
    """{order} {place}"""
    carried: str
    """{order} {number} {carrier}"""
    arrives: str
    """{order} {number} {carrier} {expected}"""
    changes: Mapping[Change, str]
    """{order}; what the assistant cannot do with it."""
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
        chats={
            "abilities": "I am a program that looks up your orders and parcels and answers from our help pages: what "
            "can I do for you?",
            "maker": "The shop's team set me up; I am a program that follows rules and looks things up "
            "in orders and help pages: what can I look up for you?",
            "mood": "Thank you, I am a program and always ready to look up an order, a parcel or a "
            "help page: what can I do for you?",
            "insult": "I am sorry that I have been no help so far: what do you need, or shall I bring in a person?",
        },
        unsure="I am not sure what you mean: {pages}?",
        either=" or ",
        which_of="Which order do you mean: {orders}?",
        ask_back="What can I help you with: an order, a parcel, or something about the shop?",
        image_unread="I can see your image ({sizes} pixels), but as an offline stand-in I can't read what is in it.",
        image_unseen="I can't see the image that you sent.",
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
        total="The total of **{order}** is {total}, placed on {placed}.",
        ships_to="**{order}** goes to {place}.",
        carried="**{order}** comes with {carrier}, tracking number {number}.",
        arrives="**{order}**: the parcel with {carrier} is expected on {expected} (tracking number {number}).",
        changes={
            "cancel": "I cannot cancel **{order}** myself.",
            "refund": "I cannot refund **{order}** myself.",
            "address": "I cannot change where **{order}** goes.",
            "faster": "I cannot make **{order}** arrive sooner.",
            "items": "I cannot change what is in **{order}** myself.",
            "change": "I cannot change **{order}** myself.",
            "return": "I cannot open a return for **{order}** myself.",
        },
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
        chats={
            "abilities": "Saya program yang mengecek pesanan dan paket Anda serta menjawab dari halaman bantuan kami: "
            "ada yang bisa saya bantu?",
            "maker": "Saya disiapkan oleh tim toko ini; saya program yang mengikuti aturan dan "
            "mengecek pesanan serta halaman bantuan: apa yang bisa saya cek untuk Anda?",
            "mood": "Terima kasih, saya program dan selalu siap mengecek pesanan, paket, atau halaman "
            "bantuan: ada yang bisa saya bantu?",
            "insult": "Maaf, saya belum bisa membantu Anda: apa yang Anda perlukan, atau mau saya "
            "hubungkan dengan tim kami?",
        },
        unsure="Saya kurang yakin maksud Anda: {pages}?",
        either=" atau ",
        which_of="Pesanan mana yang Anda maksud: {orders}?",
        ask_back="Apa yang bisa saya bantu: pesanan, paket, atau hal lain tentang toko kami?",
        image_unread="Saya melihat gambar Anda ({sizes} piksel), tetapi sebagai pengganti "
        "luring saya tidak bisa membaca isinya.",
        image_unseen="Saya tidak bisa melihat gambar yang Anda kirim.",
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
        total="Total pesanan **{order}** adalah {total}, dipesan pada {placed}.",
        ships_to="Pesanan **{order}** dikirim ke {place}.",
        carried="Pesanan **{order}** dikirim dengan {carrier}, nomor resi {number}.",
        arrives="Pesanan **{order}**: paket dari {carrier} diperkirakan tiba {expected} (nomor resi {number}).",
        changes={
            "cancel": "Saya tidak bisa langsung membatalkan pesanan **{order}**.",
            "refund": "Saya tidak bisa langsung mengembalikan dana pesanan **{order}**.",
            "address": "Saya tidak bisa mengubah alamat tujuan pesanan **{order}**.",
            "faster": "Saya tidak bisa mempercepat pengiriman pesanan **{order}**.",
            "items": "Saya tidak bisa langsung mengubah isi pesanan **{order}**.",
            "change": "Saya tidak bisa langsung mengubah pesanan **{order}**.",
            "return": "Saya tidak bisa langsung membuka pengembalian untuk **{order}**.",
        },
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
        chats={
            "abilities": "Ich bin ein Programm, das Ihre Bestellungen und Pakete nachsieht und aus unseren Hilfeseiten "
            "antwortet: Was kann ich für Sie tun?",
            "maker": "Das Team des Shops hat mich eingerichtet; ich bin ein Programm, das Regeln folgt "
            "und in Bestellungen und Hilfeseiten nachsieht: Was darf ich für Sie nachsehen?",
            "mood": "Danke der Nachfrage, ich bin ein Programm und sehe jederzeit gern nach "
            "Bestellungen, Paketen und Hilfeseiten: Was kann ich für Sie tun?",
            "insult": "Es tut mir leid, dass ich Ihnen bisher nicht helfen konnte: Was brauchen Sie, "
            "oder soll ich jemanden aus dem Team dazuholen?",
        },
        unsure="Ich bin nicht sicher, was Sie meinen: {pages}?",
        either=" oder ",
        which_of="Welche Bestellung meinen Sie: {orders}?",
        ask_back="Worum geht es: um eine Bestellung, ein Paket oder etwas anderes zum Shop?",
        image_unread="Ich sehe Ihr Bild ({sizes} Pixel), kann als Ersatzmodell ohne Netz "
        "aber nicht lesen, was darauf ist.",
        image_unseen="Das Bild, das Sie geschickt haben, kann ich nicht sehen.",
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
        total="Für **{order}** vom {placed} ist der Gesamtbetrag {total}.",
        ships_to="**{order}** geht nach {place}.",
        carried="Das Paket zu **{order}** kommt mit {carrier}, die Sendungsnummer ist {number}.",
        arrives="**{order}**: Das Paket mit {carrier} ist voraussichtlich am {expected} da (Sendungsnummer {number}).",
        changes={
            "cancel": "Stornieren kann ich **{order}** nicht selbst.",
            "refund": "Den Betrag für **{order}** kann ich nicht selbst erstatten.",
            "address": "Wohin **{order}** geht, kann ich nicht ändern.",
            "faster": "Schneller schicken kann ich **{order}** nicht.",
            "items": "Was in **{order}** ist, kann ich nicht selbst ändern.",
            "change": "Ändern kann ich **{order}** nicht selbst.",
            "return": "Eine Rücksendung von **{order}** kann ich nicht selbst anlegen.",
        },
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
        chats={
            "abilities": "Soy un programa que consulta sus pedidos y paquetes y responde con nuestras páginas de "
            "ayuda: ¿en qué le ayudo?",
            "maker": "Me puso en marcha el equipo de la tienda; soy un programa que sigue reglas y "
            "consulta pedidos y páginas de ayuda: ¿qué puedo consultar para usted?",
            "mood": "Gracias, soy un programa y siempre estoy listo para consultar un pedido, un "
            "paquete o una página de ayuda: ¿en qué puedo ayudarle?",
            "insult": "Siento no haber sido de ayuda hasta ahora: ¿qué necesita, o prefiere que avise a una persona?",
        },
        unsure="No estoy seguro de qué quiere decir: ¿{pages}?",
        either=" o ",
        which_of="¿A qué pedido se refiere: {orders}?",
        ask_back="¿De qué se trata: de un pedido, de un paquete o de otra cosa sobre la tienda?",
        image_unread="Veo su imagen ({sizes} píxeles), pero como modelo de prueba sin "
        "conexión no puedo leer lo que contiene.",
        image_unseen="No puedo ver la imagen que ha enviado.",
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
        total="El total de **{order}**, del {placed}, es de {total}.",
        ships_to="**{order}** va a {place}.",
        carried="**{order}** llega con {carrier}, número de seguimiento {number}.",
        arrives="**{order}**: el paquete de {carrier} está previsto para el {expected} (número de "
        "seguimiento {number}).",
        changes={
            "cancel": "No puedo cancelar **{order}** yo mismo.",
            "refund": "No puedo reembolsar **{order}** yo mismo.",
            "address": "No puedo cambiar la dirección de **{order}**.",
            "faster": "No puedo hacer que **{order}** llegue antes.",
            "items": "No puedo cambiar yo mismo los artículos de **{order}**.",
            "change": "No puedo modificar **{order}** yo mismo.",
            "return": "No puedo abrir yo mismo una devolución de **{order}**.",
        },
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
        chats={
            "abilities": "Je suis un programme qui consulte vos commandes et vos colis et répond à partir de nos pages "
            "d'aide : que puis-je faire pour vous ?",
            "maker": "C'est l'équipe de la boutique qui m'a mis en place ; je suis un programme qui "
            "suit des règles et consulte les commandes et les pages d'aide : que puis-je chercher pour "
            "vous ?",
            "mood": "Merci, je suis un programme, toujours prêt à consulter une commande, un colis ou "
            "une page d'aide : que puis-je faire pour vous ?",
            "insult": "Je suis désolé de ne pas vous avoir aidé jusqu'ici : de quoi avez-vous besoin, "
            "ou dois-je appeler une personne ?",
        },
        unsure="Je ne suis pas sûr de comprendre : {pages} ?",
        either=" ou ",
        which_of="De quelle commande parlez-vous : {orders} ?",
        ask_back="De quoi s'agit-il : d'une commande, d'un colis ou d'autre chose à propos de la boutique ?",
        image_unread="Je vois votre image ({sizes} pixels), mais en tant que modèle d'essai "
        "hors ligne, je ne peux pas lire ce qu'elle contient.",
        image_unseen="Je ne peux pas voir l'image que vous avez envoyée.",
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
        total="Le total de **{order}**, passée le {placed}, est de {total}.",
        ships_to="**{order}** est envoyée à {place}.",
        carried="**{order}** arrive avec {carrier}, numéro de suivi {number}.",
        arrives="**{order}** : le colis de {carrier} est attendu le {expected} (numéro de suivi {number}).",
        changes={
            "cancel": "Je ne peux pas annuler **{order}** moi-même.",
            "refund": "Je ne peux pas rembourser **{order}** moi-même.",
            "address": "Je ne peux pas changer l'adresse de **{order}**.",
            "faster": "Je ne peux pas faire arriver **{order}** plus tôt.",
            "items": "Je ne peux pas changer moi-même le contenu de **{order}**.",
            "change": "Je ne peux pas modifier **{order}** moi-même.",
            "return": "Je ne peux pas ouvrir moi-même un retour pour **{order}**.",
        },
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
