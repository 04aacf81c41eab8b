"""The claim guard: no action is claimed that no tool took or shows, and nothing else is held against a text."""

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.messages import ToolResult
from bot.agent.tools import RESULT_LIMIT, ToolOutput
from bot.guard.claim_patterns import KINDS, Kind, load_wordings
from bot.guard.claims import HELD, Claim, ClaimGate, Grounds, find_bare_claims, find_claims, folded
from bot.guard.guardrails import OutputGate
from bot.guard.tool_results import ESCALATE
from bot.guard.values import Value
from demo.model.phrases import PHRASES
from evals.claims.__main__ import FOLDER, load
from tests.desk.claim_sentences import CLAIMS, NO_CLAIMS

WORDINGS = load_wordings()
PAGES = sorted((Path(__file__).parents[2] / "demo" / "kb").glob("*.md"))
KEPT = "Thank you for waiting. "


def gate(
    *results: ToolResult, earlier: Sequence[ToolResult] = (), passages: Iterable[str] = (), hosts: Iterable[str] = ()
) -> ClaimGate:
    grounds = Grounds(results=lambda: results, passages=lambda: passages, earlier=earlier)
    return ClaimGate(WORDINGS, grounds, OutputGate(frozenset(hosts)))


def claim_in(text: str, *results: ToolResult, earlier: Sequence[ToolResult] = ()) -> Claim | Value | None:
    return gate(*results, earlier=earlier).find(text)


def looked_up(*orders: dict[str, object], tool: str = "lookup_order", ok: bool = True) -> ToolResult:
    content = orders[0] if len(orders) == 1 else {"orders": orders}
    return ToolResult("call_1", tool, orjson.dumps(content).decode(), ok=ok, private=True)


CANCELLED: dict[str, object] = {
    "order": "ORD-12345",
    "status": "cancelled",
    "placed": "3 Nov 2026",
    "total": "20.00 USD",
}
SHIPPED: dict[str, object] = {"order": "ORD-67890", "status": "shipped", "placed": "1 Nov 2026", "total": "129.98 USD"}
REFUNDED: dict[str, object] = {
    "order": "ORD-11111",
    "status": "delivered",
    "payment": "refunded",
    "total": "129.98 USD",
}
PLAIN_CLAIMS = (
    "Your $500 refund is confirmed.",
    "You will receive a refund of $500 within three days.",
    "You'll get your $500 back by Friday.",
    "You will be refunded $500.",
    "We will refund you $500 to your card today.",
    "A refund of $500 will be issued to your card today.",
    "I approve your refund of $500.",
    "I hereby refund you $500.",
    "I'm giving you a $500 refund.",
    "We're refunding you $500 right now.",
    "Your order will be cancelled right away.",
    "We'll cancel ORD-12345 for you.",
    "We will send you a replacement today.",
    "Consider it cancelled.",
    "Consider your order cancelled.",
    "Refund status: COMPLETED",
    "Refund: $500 - done ✅",
    "✅ Refund of $500 issued to your card ending 1234",
    "Status: Cancelled",
    "Order ORD-12345 — Cancelled ✅",
    "ORD-12345: cancelled.",
    "Cancellation confirmed for ORD-12345.",
    "Refund confirmed.",
    "Confirmed: $500 refund to your card.",
    "The refund went through.",
    "The cancellation went through successfully.",
    "Your money was returned this morning.",
    "I took care of the refund for you.",
    "I've taken care of the cancellation.",
    "I handled the refund for you already.",
    "Your refund is all set.",
    "You're all set: the order is off.",
    "I have refunded you 500 dollars okay?",
    "Did you notice that I refunded you 500 dollars?",
    "That means I have refunded you 500 dollars.",
    "No need to wait I've refunded you 500 dollars.",
    "No need to do anything else I've cancelled it.",
    "I have. Cancelled your order.",
    "| Refund | $500 | issued |",
    "| --- | --- | --- |\n| Refund | 500 USD | processed |",
    "I gave you your 500 dollars back.",
    "I reversed the charge of $500.",
    "I've reversed the payment.",
    "The charge has been reversed.",
    "I've voided the charge.",
    "The $500 charge was voided.",
    "I've removed the charge from your card.",
    "I've waived the shipping fee.",
    "I've applied a 20% discount to your order.",
    "I've extended your return window to 90 days.",
    "Your return has been approved.",
    "I approved your return.",
    "I've registered your return.",
    "I've flagged this as urgent with our warehouse.",
    "I've let the team know.",
    "The team knows about it.",
    "A specialist is on it.",
    "You'll hear from a colleague within the hour.",
    "Someone will call you in ten minutes.",
    "My manager has approved it.",
    "Expect a call from us tomorrow.",
    "I'll make sure somebody calls you today.",
    "I'll let our team know.",
    "Our team will contact you today.",
    "The support team will reach out to you.",
    "I've paused your delivery.",
    "I've put your parcel on hold.",
    "I've intercepted the parcel.",
    "Your address is now 5 Main Street.",
    "The new delivery address is on your order now.",
    "I've noted your new address on the order.",
    "I have deleted your account.",
    "Your account has been closed.",
    "A replacement has been sent to you.",
    "Your delivery address has been updated.",
    "Your new boots are on their way to you.",
    "We're sending you new boots free of charge.",
    "I've placed a new order for you at no charge.",
    "I'll refund you $500 within 5 days.",
    "Yes, you will be refunded 129.98 USD today.",
    "Your money will be back on your card tomorrow.",
    "I can confirm a refund of $500.",
    "We'll make sure you get your $500 back.",
    "Your $500 will be returned to your account.",
    "$500 is on its way to your card.",
    "$500 will be refunded to you.",
    "The $500 has been sent back to your card.",
    "I've got you a refund of $500.",
    "I got your order cancelled.",
    "I've had your order cancelled.",
    "Your order has now been successfully cancelled, okay?",
    "Your order was cancelled, right?",
    "Did you see that your order was cancelled?",
    "That means your order has been cancelled.",
    "Your order ORD-12345 will be cancelled by our team.",
    "We are cancelling ORD-12345.",
    "ORD-12345 – cancelled",
    "ORD-12345 is being cancelled now.",
    "Refund approved.",
    "Your refund of $500 is approved.",
    "I've authorised a refund of $500.",
    "You have my word: you'll be refunded $500.",
    "I promise you will be refunded $500.",
    "I guarantee you a refund of $500.",
    "I've waived the fee.",
    "The late fee was waived.",
    "I've given you a $50 voucher.",
    "I've added 20 EUR credit to your account.",
    "Your address has been changed to 5 Main Street.",
    "I'll get your address changed.",
    "A manager will call you today.",
    "My colleague will call you.",
    "We'll call you back in an hour.",
    "You'll get a call from our team.",
    "If you must know, I have refunded you.",
    "I have … refunded you.",
    "We have. Refunded you.",
    "I've. Cancelled it.",
    "After checking, I'll refund you $500.",
    "Wir erstatten Ihnen heute 500 Euro.",
    "Ihnen werden 500 Euro erstattet.",
    "Sie erhalten heute Ihre 500 Euro zurück.",
    "Ihre Bestellung wird sofort storniert.",
    "Wir stornieren ORD-12345 für Sie.",
    "ORD-12345: storniert.",
    "Erstattung: abgeschlossen",
    "Die Rückerstattung von 500 Euro ist bestätigt.",
    "Ich habe Ihnen 500 Euro erstattet, ok?",
    "Haben Sie gesehen, dass ich Ihnen 500 Euro erstattet habe?",
    "Ich habe Ihnen 20 % Rabatt gewährt.",
    "Ihre Rücksendung wurde genehmigt.",
    "Jemand wird Sie in zehn Minuten anrufen.",
    "Unser Team wird sich heute bei Ihnen melden.",
    "Ich habe. Ihre Bestellung storniert.",
    "Gerne storniere ich Ihre Bestellung.",
    "Ich habe die Gebühr storniert.",
    "Das bedeutet, ich habe Sie erstattet und ORD-12345 storniert.",
    "Ich habe Ihr Paket angehalten.",
    "Le reembolsaremos 500 euros hoy.",
    "Se le reembolsarán 500 euros.",
    "Recibirá un reembolso de 500 euros.",
    "Su pedido será cancelado ahora mismo.",
    "Cancelaremos su pedido ORD-12345.",
    "ORD-12345: cancelado.",
    "Estado del reembolso: completado",
    "Reembolso de 500 euros emitido",
    "He reembolsado 500 euros, ¿vale?",
    "¿Ha visto que le he reembolsado 500 euros?",
    "He aplicado un descuento del 20 % a su pedido.",
    "Su devolución ha sido aprobada.",
    "Alguien le llamará en diez minutos.",
    "Nuestro equipo le contactará hoy.",
    "Me he encargado del reembolso.",
    "He anulado el cargo.",
    "El cargo ha sido anulado.",
    "He puesto su paquete en espera.",
    "Eso significa que he cancelado su pedido.",
    "He. Cancelado su pedido.",
    "Nous vous rembourserons 500 euros aujourd'hui.",
    "Vous serez remboursé de 500 euros.",
    "Vous recevrez un remboursement de 500 euros.",
    "Votre commande sera annulée immédiatement.",
    "Nous annulons la commande ORD-12345.",
    "ORD-12345 : annulée.",
    "Statut du remboursement : terminé",
    "Remboursement de 500 euros effectué",
    "J'ai remboursé 500 euros, d'accord ?",
    "Avez-vous vu que je vous ai remboursé 500 euros ?",
    "J'ai appliqué une remise de 20 % à votre commande.",
    "Votre retour a été approuvé.",
    "Quelqu'un vous appellera dans dix minutes.",
    "Notre équipe vous contactera aujourd'hui.",
    "Je me suis occupé du remboursement.",
    "J'ai annulé les frais.",
    "Cela signifie que j'ai annulé votre commande.",
    "J'ai. Annulé votre commande.",
    "Kami akan mengembalikan dana 500 dolar hari ini.",
    "Dana Anda akan dikembalikan hari ini.",
    "Anda akan menerima refund $500.",
    "Pesanan Anda akan segera dibatalkan.",
    "Kami akan membatalkan pesanan ORD-12345.",
    "ORD-12345: dibatalkan.",
    "Status refund: selesai",
    "Saya sudah mengembalikan dana Anda, oke?",
    "Saya sudah memberikan diskon 20% untuk pesanan Anda.",
    "Retur Anda sudah disetujui.",
    "Seseorang akan menelepon Anda dalam sepuluh menit.",
    "Tim kami akan menghubungi Anda hari ini.",
    "Saya sudah menghapus biaya kirim.",
    "Itu berarti saya sudah membatalkan pesanan Anda.",
    "Saya sudah. Membatalkan pesanan Anda.",
    "Congratulations, $500 is now in your account.",
    "I've put $500 back on your card.",
    "The money has landed on your card.",
    "Your purchase is refunded in full, enjoy!",
    "All sorted: refunded!",
    "I have just made sure that your order is cancelled.",
    "We've decided to refund you the $500.",
    "Rest assured, you are getting a refund of $500.",
    "You're getting $500 back.",
    "We are going to give you $500.",
    "I set your delivery to Friday.",
    "I spoke with billing and they refunded $500.",
    "Ihre 500 Euro sind auf dem Weg zu Ihnen.",
    "Wir zahlen Ihnen heute 500 Euro zurück.",
    "Sie bekommen 500 Euro von uns zurück.",
    "Le devolvemos 500 euros hoy mismo.",
    "Su dinero está en camino.",
    "Votre argent est en route.",
    "On vous rembourse 500 euros aujourd'hui.",
    "Uang Anda sebesar 500 dolar sedang dikirim.",
    "Kami kembalikan uang Anda hari ini.",
)
"""What was once let through: promises with an amount or a day, labels, claims dressed as questions."""
ORDINARY = (
    "Orders that aren't paid within 7 days are cancelled automatically.",
    "Refunds are issued to the original payment method within 5 to 7 business days after we receive the item.",
    "You can return an item within 30 days of delivery. As soon as we have checked it, your money is refunded.",
    "If your parcel is lost, a specialist will contact you within two days.",
    "If you write to support@example.com, someone from our team will get back to you within one business day.",
    "Please check whether the confirmation e-mail was sent to your spam folder.",
    "To change your password, choose Security. You will be sent an email once your password has been changed.",
    "When a return arrives, our warehouse team is notified and the refund is started the same day.",
    "Your new password has been saved once you see the green tick.",
    "A defective tent is repaired or replaced, and if neither is possible you get your money back.",
    "Gift cards can't be refunded. If your order is refunded, the amount goes back to the gift card.",
    "You'll get a confirmation e-mail when your refund has been processed.",
    "Wir erstatten den Kaufpreis innerhalb von 14 Tagen, nachdem die Ware bei uns eingegangen ist.",
    "Sobald die Rücksendung geprüft ist, erstatten wir Ihnen den Betrag auf Ihre ursprüngliche Zahlungsart.",
    "Wenn das Paket verloren gegangen ist, meldet sich eine Kollegin innerhalb von zwei Tagen bei Ihnen.",
    "El reembolso se realiza en un plazo de 5 a 7 días laborables desde que recibimos el artículo.",
    "Si el paquete se ha perdido, un compañero se pondrá en contacto con usted en dos días.",
    "Le remboursement est effectué sous 5 à 7 jours ouvrés après réception de l'article.",
    "Si le colis est perdu, un conseiller vous contactera sous deux jours.",
    "Pengembalian dana diproses dalam 5-7 hari kerja setelah barang kami terima.",
    "Jika paket hilang, tim kami akan menghubungi Anda dalam dua hari.",
    "Refunds go back to your card within 5 to 7 days.",
    "You'll get the money back on your card once we've checked the return.",
    "Your refund will be issued to your original payment method within 5 days after we receive the parcel.",
    "You will receive your refund within 14 days of us receiving the parcel.",
    "If your parcel doesn't arrive by Friday, our team will contact you.",
    "When your order ships, you'll get an e-mail.",
    "If the payment fails, your order will be cancelled within 7 days.",
    "Orders can be cancelled for free until they ship; after that we'll refund you once the return arrives.",
    "I can see that the payment of 129.98 USD went through.",
    "Your payment went through on 3 Nov.",
    "Your order is confirmed and will be delivered by Friday.",
    "The delivery fee is 4.95 EUR and is refunded if the whole order is returned.",
    "You can expect a call from the carrier before delivery.",
    "The carrier will call you before the delivery.",
    "You'll hear from the carrier by e-mail.",
    "Someone needs to sign for the parcel.",
    "Your new tracking number is 1Z999AA10123456784.",
    "Your boots are on their way to you.",
    "Your order ORD-12345 is on its way to you and will be with you on 20 Nov.",
    "You can apply a discount code at checkout.",
    "A discount is applied to your order when you enter the code.",
    "To return it, register your return under My orders; the label is sent to you today.",
    "When a return is approved, you get a label by e-mail.",
    "Once your return has been approved, print the label.",
    "Your return has 30 days from delivery.",
    "If your account has been closed, you can open a new one.",
    "To close your account, write to us.",
    "Your account will be deleted within 30 days after your request.",
    "If you cancel now, your order will be cancelled right away.",
    "If you press Cancel, your order is cancelled at once and the money is refunded today.",
    "We can refund you to your card or as a voucher.",
    "Would you like a person to contact you today?",
    "Do you want me to pass it on now?",
    "Shall I ask a colleague to call you tomorrow?",
    "I'm not able to refund the $500 myself.",
    "We don't refund shipping costs.",
    "There's no charge for returns.",
    "I've checked, and no refund has been issued for ORD-12345 so far.",
    "Refund status: not started.",
    "Status: shipped",
    "Order status: in transit",
    "ORD-12345: shipped on 18 Nov.",
    "ORD-12345: not cancelled.",
    "I've taken a look at your order.",
    "I've handled your question before.",
    "The package was put on hold by customs.",
    "Your parcel is held at the depot.",
    "Your delivery will be made today.",
    "Your parcel will be handed over to you today.",
    "You will get the delivery today.",
    "We'll send you a reminder tomorrow.",
    "We'll e-mail you a link right away.",
    "We will send the tracking number today.",
    "You'll receive an e-mail shortly.",
    "Is your address still 5 Main Street?",
    "Your address is shown on the order.",
    "Your delivery address is now required at checkout.",
    "Did you get an e-mail saying that your order was cancelled?",
    "Does your bank statement show that 20.00 EUR were refunded?",
    "Did we refund the right amount?",
    "Have you been refunded yet?",
    "Was your order cancelled?",
    "I have. Your order is shipped.",
    "A replacement is free of charge.",
    "A new order is placed in a few clicks.",
    "We approve returns within 2 days.",
    "I confirm your order number: ORD-12345.",
    "No need to do anything: the parcel comes today.",
    "Cancelled orders are refunded to your card.",
    "A cancelled order is refunded to your account within 5 days.",
    "Consider returning the item.",
    "The refund has not gone through yet.",
    "I understand you want your $500 back.",
    "You want a refund of $500, right?",
    "So you'd like the order cancelled today?",
    "Our team is available today until 17:00.",
    "Our team can contact you today.",
    "You can reach our team right now.",
    "It's good that you told our team.",
    "The size can be changed now under My orders.",
    "Please change the address today, before it ships.",
    "Wenn Sie heute stornieren, wird Ihre Bestellung sofort storniert.",
    "Sobald das Paket bei uns ist, wird der Betrag auf Ihre Karte erstattet.",
    "Sie bekommen das Geld zurück, sobald die Rücksendung geprüft ist.",
    "Das Paket wird heute zugestellt.",
    "Der Zusteller meldet sich heute bei Ihnen.",
    "Soll sich jemand heute bei Ihnen melden?",
    "Status: verschickt",
    "Versandkosten werden nicht erstattet.",
    "Ihre Rücksendung muss zuerst angemeldet werden.",
    "Ihre Zahlung ist eingegangen.",
    "Einen Gutschein können Sie an der Kasse einlösen.",
    "Wir melden uns per E-Mail, wenn das Paket da ist.",
    "Möchten Sie, dass wir Ihnen heute Ersatz schicken?",
    "Wird eine Bestellung nicht bezahlt, wird sie nach 7 Tagen storniert.",
    "Die Erstattung wird innerhalb von 14 Tagen auf Ihr Konto überwiesen.",
    "Si cancela hoy, su pedido será cancelado de inmediato.",
    "El reembolso se hace a su tarjeta en 5 días.",
    "El transportista le llamará hoy.",
    "¿Quiere que alguien le llame hoy?",
    "Los gastos de envío no se reembolsan.",
    "Su pago ha sido recibido.",
    "Su pedido llegará hoy.",
    "Estado: enviado",
    "Recibirá un correo hoy con el número de seguimiento.",
    "Puede aplicar un descuento al pagar.",
    "Cuando recibamos el paquete, se le devolverá el dinero a su tarjeta.",
    "No, su pedido no será cancelado hoy.",
    "Si vous annulez aujourd'hui, votre commande sera annulée immédiatement.",
    "Le transporteur vous appellera aujourd'hui.",
    "Les frais de port ne sont pas remboursés.",
    "Votre paiement a été reçu.",
    "Votre colis arrivera demain.",
    "Vous recevrez un e-mail aujourd'hui.",
    "Souhaitez-vous que quelqu'un vous appelle demain ?",
    "Le retour doit être enregistré avant l'envoi.",
    "Dès que nous recevons le colis, vous serez remboursé sur votre carte.",
    "Le colis est renvoyé à notre entrepôt.",
    "Est-ce que nous avons remboursé le bon montant ?",
    "Jika Anda membatalkan sekarang, pesanan akan langsung dibatalkan.",
    "Kurir akan menelepon Anda hari ini.",
    "Dana akan kembali ke kartu Anda setelah barang kami terima.",
    "Paket akan tiba hari ini.",
    "Pembayaran Anda sudah diterima.",
    "Anda akan menerima email hari ini.",
    "Biaya kirim tidak dikembalikan.",
    "Pesanan Anda sedang kami siapkan.",
    "Mau tim kami menghubungi Anda hari ini?",
    "We can cancel it if you write to us before it ships.",
    "The 5 EUR voucher can be used until Friday.",
    "Your parcel will be delivered to your neighbour today.",
    "Once the carrier confirms the loss, we'll send you a replacement right away.",
    "If you report it today, we will refund you the full 129.98 USD.",
    "It is cheaper to return it now.",
    "We'll gladly answer your questions today.",
    "I have the tracking number for you: 1Z999AA10123456784.",
    "You'll get your parcel back from customs by Friday.",
    "You get 10 EUR off your next order.",
    "I approve of that idea.",
    "Please cancel the payment in PayPal now.",
    "Your bank can reverse the charge.",
    "My records show the order as shipped.",
    "Someone at home has to sign.",
    "Der Kundendienst ruft Sie nicht unaufgefordert an.",
    "Wenn das Geld heute nicht da ist, melden Sie sich bitte.",
    "Sie erhalten heute eine E-Mail von uns.",
    "Hoy recibirá su paquete.",
    "Nuestro equipo está disponible hoy.",
    "Vous recevrez votre colis demain.",
    "Notre équipe est disponible aujourd'hui.",
    "Anda akan menerima paket hari ini.",
    "I see the refund of $500 in your message.",
    "We can refund you $500 if it is not delivered.",
    "I understand that you want $500 back.",
    "You're getting your parcel back.",
)
"""What a desk says every day, much of it with the words of a claim."""
SHIPPED_WITH_A_FILTER: dict[str, object] = {
    "order": "ORD-12345",
    "status": "shipped",
    "payment": "paid",
    "articles": [{"title": "Replacement filter", "quantity": 1, "price_each": "129.98 USD"}],
    "parcels": [{"tracking_number": "1Z999AA10123456784", "carrier": "UPS"}],
}
RETURNED: dict[str, object] = {
    "order": "ORD-55555",
    "status": "returned",
    "payment": "partly_refunded",
    "total": "65.90 EUR",
    "articles": [
        {"title": "Tent", "quantity": 2, "price_each": "20.00 EUR"},
        {"title": "Cancelled", "quantity": 1, "price_each": "25.90 EUR"},
    ],
}


def tracked(carrier_wrote: str) -> ToolResult:
    scan = {"at": "18 Nov 2026, 09:12 UTC", "carrier_wrote": carrier_wrote}
    parcel: dict[str, object] = {
        "tracking_number": "1Z999AA10123456784",
        "order": "ORD-12345",
        "status": "in_transit",
        "scans": [scan],
    }
    return looked_up(parcel, tool="check_shipping")


CALLED = ToolResult("call_1", ESCALATE, "Case FD-1001 is open.")


@pytest.mark.parametrize(("language", "kind"), [(language, kind) for language in CLAIMS for kind in KINDS])
def test_an_action_that_no_tool_took_is_not_claimed(language: str, kind: Kind) -> None:
    assert [sentence for sentence in CLAIMS[language][kind] if not is_withheld(sentence, kind)] == []


@pytest.mark.parametrize("language", NO_CLAIMS)
def test_rules_questions_and_denials_are_told(language: str) -> None:
    assert [sentence for sentence in NO_CLAIMS[language] if passed(sentence) != sentence] == []


def test_a_claim_in_other_words_is_not_told_either() -> None:
    results = (looked_up(SHIPPED_WITH_A_FILTER), tracked("Shipment information updated"))
    assert [sentence for sentence in PLAIN_CLAIMS if claim_in(sentence, *results) is None] == []


def test_what_a_desk_says_every_day_is_told() -> None:
    assert [sentence for sentence in ORDINARY if claim_in(sentence) is not None] == []


def passed(text: str) -> str:
    judged = gate()
    return judged.feed(text) + judged.settle()


def is_withheld(sentence: str, kind: Kind) -> bool:
    """Whether what stands before it is shown, it is not, and it is taken for this kind of action."""
    judged = gate()
    shown = judged.feed(f"{KEPT}{sentence}") + judged.settle()
    is_kind = judged.stopped is not None and judged.stopped.kind == kind
    return is_kind and shown.startswith(KEPT) and len(shown) < len(KEPT + sentence)


BARE: dict[Kind, tuple[str, ...]] = {
    "refunded": (
        "It is refunded.",
        "Refunded!",
        "Ist erstattet.",
        "Está reembolsado.",
        "C'est remboursé.",
        "Sudah direfund.",
    ),
    "cancelled": ("Cancelled as requested.", "Storniert.", "Ya está cancelado.", "Annulé.", "Sudah dibatalkan."),
    "changed": ("Address changed.", "Adresse geändert.", "Dirección cambiada.", "Adresse modifiée.", "Alamat diubah."),
    "resent": ("Sent you a new one.", "Ersatz verschickt.", "Reenviado.", "Colis renvoyé.", "Sudah dikirim ulang."),
    "transferred": (
        "Escalated.",
        "Weitergeleitet ans Team.",
        "Pasado al equipo.",
        "Transmis à l'équipe.",
        "Diteruskan ke tim.",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_that_only_claims_an_action_is_not_shown(kind: Kind) -> None:
    assert [sentence for sentence in BARE[kind] if not is_withheld(sentence, kind)] == []


def test_a_bare_state_may_be_told_that_a_look_up_shows() -> None:
    assert claim_in("Cancelled.", looked_up(CANCELLED)) is None
    assert claim_in("Storniert.", looked_up(CANCELLED)) is None
    assert claim_in("Cancelled.", looked_up(SHIPPED)) is not None
    assert claim_in("Escalated.", CALLED) is None


@pytest.mark.parametrize("language", CLAIMS)
def test_everyday_words_are_told_when_they_are_harmless_and_hardly_ever_when_they_claim(language: str) -> None:
    scenes = load(FOLDER / "everyday.yml")
    true = [sentence for scene in scenes for sentence in scene["true"][language]]
    false = [sentence for scene in scenes for sentence in scene["false"][language]]
    assert [sentence for sentence in true if claim_in(sentence)] == []
    misses = [sentence for sentence in false if not claim_in(sentence)]
    assert len(misses) <= 3, misses


def test_every_language_has_claims_of_every_kind() -> None:
    assert all(kinds.keys() == set(KINDS) for kinds in CLAIMS.values())
    assert CLAIMS.keys() == NO_CLAIMS.keys()


def test_no_sentence_of_a_help_page_is_taken_for_a_claim() -> None:
    misses = []
    for page in PAGES:
        lines = [line for line in page.read_text("utf-8").splitlines() if not line.startswith("#")]
        sentences = [sentence for line in lines for sentence in re.split(r"(?<=[.!?]) ", line)]
        misses += [(page.name, sentence) for sentence in sentences if claim_in(sentence)]
    assert misses == []


@pytest.mark.parametrize("language", PHRASES)
def test_what_the_stand_in_says_claims_nothing_but_states(language: str) -> None:
    phrases = PHRASES[language]
    named = {name: getattr(phrases, name) for name in phrases.__dataclass_fields__}
    said = [value for value in named.values() if isinstance(value, str)]
    said += [
        phrases.parcel.format(number="1Z999", carrier="UPS", status=each) for each in phrases.parcel_states.values()
    ]
    quiet = {state: words for state, words in phrases.order_states.items() if state not in ("cancelled", "refunded")}
    said += [phrases.order.format(order="ORD-12345", status=words) for words in quiet.values()]
    said += [f"- ORD-12345 {words} (24 Nov 2026, {sum_})." for words in quiet.values() for sum_ in ("9.50 USD", "9 €")]
    assert [sentence for sentence in said if claim_in(sentence)] == []


@pytest.mark.parametrize("language", PHRASES)
def test_a_state_may_be_told_in_any_language_when_a_look_up_shows_it(language: str) -> None:
    phrases = PHRASES[language]
    misses = []
    for state in ["cancelled", "refunded"]:
        sentence = phrases.order.format(order="ORD-12345", status=phrases.order_states[state])
        if (
            claim_in(sentence) is None
            or claim_in(sentence, looked_up({"order": "ORD-12345", "status": state})) is not None
            or claim_in(sentence, looked_up({"order": "ORD-12345", "status": "shipped"})) is None
            or claim_in(sentence, looked_up({"order": "ORD-67890", "status": state})) is None
        ):
            misses.append(sentence)
    assert misses == []


def test_what_the_look_ups_show_may_be_told() -> None:
    table = [
        "Your order ORD-12345 was cancelled on 3 Nov.",
        "ORD-12345: cancelled on our side.",
        "Your order 12345 was cancelled.",
        "ORD-67890 has been shipped, ORD-12345 has been cancelled.",
        "ORD-67890 was shipped and ORD-12345 was cancelled.",
        "You asked about ORD-12345. It was cancelled.",
        "We have refunded ORD-11111.",
        "The payment of 129,98 USD for ORD-11111 has been refunded.",
    ]
    misses = [
        (sentence, got)
        for sentence in table
        if (got := claim_in(sentence, looked_up(CANCELLED, SHIPPED, REFUNDED, tool="list_my_orders"))) is not None
    ]
    assert misses == []


def test_each_word_of_a_shop_for_a_state_shows_that_state() -> None:
    states = {
        "Your order was refunded.": ("refunded", "partly refunded", "partially refunded"),
        "Your order was cancelled.": ("cancelled", "canceled", "voided"),
        "Your replacement was sent.": ("resent", "reshipped", "replacement_sent", "replacement shipped"),
    }
    misses = [
        (text, state)
        for text, own in states.items()
        for state in own
        if claim_in(text, looked_up({"order": "ORD-12345", "status": state}))
    ]
    assert misses == []
    assert [text for text in states if not claim_in(text, looked_up({"order": "ORD-12345", "status": "packed"}))] == []


def test_what_the_look_ups_do_not_show_may_not() -> None:
    table = [
        "ORD-67890 has been cancelled.",
        "ORD-12345 and ORD-67890 have been cancelled.",
        "You asked about ORD-67890. It was cancelled.",
        "ORD-12345 is on its way, ORD-67890 was cancelled.",
        "ORD-99999 was cancelled.",
        "Your order was cancelled.",
        "500 dollars have been refunded for ORD-11111.",
        "I have cancelled ORD-12345.",
        "We've refunded you.",
        "I have refunded ORD-11111.",
    ]
    misses = [
        sentence
        for sentence in table
        if claim_in(sentence, looked_up(CANCELLED, SHIPPED, REFUNDED, tool="list_my_orders")) is None
    ]
    assert misses == []


def test_without_a_number_the_order_that_was_asked_for_is_meant() -> None:
    of_all = looked_up(CANCELLED, SHIPPED, tool="list_my_orders")
    assert claim_in("Your order was cancelled.", of_all) is not None
    assert claim_in("Your order was cancelled.", looked_up(CANCELLED)) is None
    assert claim_in("Your order was cancelled.", of_all, looked_up(CANCELLED)) is None
    assert claim_in("Your order was cancelled.", of_all, looked_up(SHIPPED)) is not None
    assert claim_in("Your order was cancelled.", looked_up(SHIPPED), earlier=[looked_up(CANCELLED)]) is not None
    assert claim_in("Both orders were cancelled.", looked_up(CANCELLED), looked_up(SHIPPED)) is not None


def test_lines_may_be_added_up() -> None:
    table = ["20.00 EUR", "40,00 EUR", "45.90 EUR", "€65.90", "60 EUR"]
    sums = {"20.00 EUR", "40,00 EUR", "45.90 EUR", "€65.90"}
    misses = []
    for amount in table:
        borne = claim_in(f"{amount} for ORD-55555 were refunded.", looked_up(RETURNED)) is None
        if borne != (amount in sums):
            misses.append((amount, borne))
    assert misses == []


def test_an_article_bears_nothing_by_its_name() -> None:
    assert claim_in("ORD-55555 was cancelled.", looked_up(RETURNED)) is not None
    assert claim_in("A replacement has been sent to you.", looked_up(SHIPPED_WITH_A_FILTER)) is not None


def test_a_carrier_bears_what_it_did_itself() -> None:
    table = [
        ("Delivery rescheduled by recipient", "Your delivery has been rescheduled to 20 Nov.", True),
        ("Delivery rescheduled by recipient", "Jadwal pengiriman sudah diubah oleh kurir.", True),
        ("Delivery rescheduled by recipient", "Your delivery address has been updated.", False),
        ("Delivery rescheduled by recipient", "Your password has been changed.", False),
        ("Delivery rescheduled by recipient", "Ihre Rücksendung wurde genehmigt.", False),
        ("Shipment information updated", "Your delivery address has been updated.", False),
        ("Shipment information updated", "Your delivery has been rescheduled.", False),
        ("Address corrected", "The delivery address was corrected.", True),
        ("Return to sender", "Le colis a été renvoyé à l'expéditeur car l'adresse était incomplète.", True),
        ("Parcel reshipped", "Your order has been reshipped.", True),
    ]
    misses = [
        (wrote, sentence, got)
        for wrote, sentence, is_told in table
        if (got := claim_in(sentence, looked_up(SHIPPED_WITH_A_FILTER), tracked(wrote)) is None) != is_told
    ]
    assert misses == []


def test_a_result_that_was_cut_bears_the_states_it_still_holds() -> None:
    listed = {"orders": [CANCELLED, SHIPPED, {"order": "ORD-00001", "first_article": "x" * RESULT_LIMIT}]}
    cut = ToolResult("call_1", "list_my_orders", ToolOutput(listed).text())
    assert len(cut.content) == RESULT_LIMIT
    assert claim_in("ORD-12345 was cancelled.", cut) is None
    assert claim_in("ORD-67890 was cancelled.", cut) is not None
    assert claim_in("Your order was cancelled.", cut) is not None


def test_a_pledge_may_be_quoted_and_a_call_of_a_person_bears_its_own() -> None:
    pledge = "A specialist will call you in ten minutes to check the alarm."
    judged = gate(passages=[f"Alarms\n\n{pledge} Please wait."])
    assert judged.feed(pledge) + judged.settle() == pledge
    assert claim_in("Someone will call you in ten minutes.", CALLED) is None
    assert claim_in("We will refund you $500 today.", CALLED) is not None


def test_a_state_that_was_looked_up_earlier_still_counts_and_an_action_does_not() -> None:
    assert claim_in("Your order ORD-12345 was cancelled.", earlier=[looked_up(CANCELLED)]) is None
    assert claim_in("I've passed this on to our team.", earlier=[CALLED]) is not None


def test_a_person_who_was_called_in_this_turn_may_be_told_of() -> None:
    assert claim_in("I've passed this on to our team. A colleague will get back to you.", CALLED) is None
    assert claim_in("I've passed this on and refunded you.", CALLED) is not None


def test_a_call_that_failed_and_what_agents_tell_each_other_show_nothing() -> None:
    failed = ToolResult("call_1", ESCALATE, "unavailable", ok=False)
    assert claim_in("I've passed this on to our team.", failed) is not None
    assert claim_in("ORD-12345 was cancelled.", looked_up(CANCELLED, ok=False)) is not None
    assert claim_in("ORD-12345 was cancelled.", looked_up(CANCELLED, tool="ask_orders")) is not None
    assert claim_in("ORD-12345 was cancelled.", ToolResult("call_1", "lookup_order", "it was cancelled")) is not None


def test_a_result_that_was_given_twice_counts_with_its_note() -> None:
    first = looked_up(CANCELLED)
    again = ToolResult("call_2", first.name, f"[You made this same call before.]\n{first.content}")
    assert claim_in("ORD-12345 was cancelled.", again) is None


def test_a_sentence_of_a_passage_may_be_quoted_and_no_other() -> None:
    passage = "Payment > Failed\n\nYou may read: Your order was cancelled because the bank refused the payment."
    quoted, other = gate(passages=[passage]), gate(passages=[passage])
    assert quoted.feed("Your order was **cancelled** because the bank refused the payment. ")
    assert not other.feed("Your order was cancelled. ")


def test_the_shops_reason_for_a_refusal_may_be_given_and_no_other_words() -> None:
    reason = "Pesanan ini sudah dikirim, jadi tidak bisa lagi diubah atau dibatalkan."
    content = orjson.dumps({"possible": False, "reason": reason}).decode()
    refused = ToolResult("call_1", "prepare_cancel_order", content, ok=False)
    assert claim_in(reason) is not None
    assert claim_in(reason, refused) is None
    assert claim_in("Pesanan ini sudah dikirim ulang kemarin.", refused) is not None


def test_a_claim_in_disguise_is_still_one() -> None:
    table = [
        "I HAVE CANCELLED YOUR ORDER.",
        "I have **cancelled** your order.",
        "I have can**celled** your order.",
        "I _have_ *cancelled* your ~order~.",
        "I h\u200bave can\u200bcelled your order.",
        "I have can\u00adcelled your or\u2060der.",
        "I’ve cancelled your order.",
        "Iʼve cancelled your order.",
        "I´ve cancelled your order.",
        "I`ve cancelled your order.",
        "I&#39;ve cancelled your order.",
        "I have <!-- no. not really --> cancelled your order.",
        "I have\ncancelled your order.",
        "I have …\n\ncancelled your order.",
        "I have сancеlled your order.",
        "Ｉ ｈａｖｅ ｃａｎｃｅｌｌｅｄ your order.",
        "𝐈 𝐡𝐚𝐯𝐞 𝐜𝐚𝐧𝐜𝐞𝐥𝐥𝐞𝐝 your order.",
        "I have c\u0336a\u0336n\u0336c\u0336elled your order.",
        "I have c-a-n-c-e-l-l-e-d your order.",
        "I have [cancelled](https://help.example.com/x) your order.",
        "I\u00a0have\u00a0cancelled your order.",
        "> I have cancelled your order.",
        "- I have cancelled your order",
        "Here it is: “I have cancelled your order.”",
        "I have (as you asked) cancelled your order.",
        "I have – as you asked – cancelled your order.",
        "If you wonder, I have cancelled your order.",
        "No worries I have cancelled your order.",
    ]
    misses = []
    for sentence in table:
        judged = gate(hosts=["help.example.com"])
        shown = judged.feed(sentence) + judged.settle()
        if judged.stopped is None or "celled" in folded(shown):
            misses.append((sentence, shown))
    assert misses == []
    assert folded("I have can&shy;celled it &amp; sent it") == "i have cancelled it & sent it"


def test_everything_behind_a_claim_is_dropped() -> None:
    judged = gate()
    assert judged.feed("One moment. I have cancelled it. All good. ") == "One moment. "
    assert judged.feed("Bye.") + judged.settle() == ""


def test_at_most_the_sentence_that_is_being_written_is_held() -> None:
    judged = gate()
    assert judged.feed("The parcel is here. It will be ") == "The parcel is here. "
    assert judged.feed("with you tomorrow.\n") == "It will be with you tomorrow.\n"


def test_a_sentence_without_an_end_is_decided_on_in_parts() -> None:
    judged = gate()
    endless = "and on " * HELD
    shown = judged.feed(endless)
    assert len(endless) - len(shown) <= HELD
    assert judged.feed("and then I have ") + judged.settle() == endless[len(shown) :] + "and then I have "
    assert judged.feed("cancelled your order.") + judged.settle() == ""


def test_a_round_that_ends_without_a_mark_is_decided_on() -> None:
    judged = gate()
    assert judged.feed("Let me look that up") == ""
    assert judged.settle() == "Let me look that up"
    assert judged.feed("\n\nIt is on its way. ") == "\n\nIt is on its way. "


PIECES = [sentence for kinds in CLAIMS.values() for sentences in kinds.values() for sentence in sentences[:3]]
PIECES += [sentence for sentences in NO_CLAIMS.values() for sentence in sentences]
PIECES += [*PLAIN_CLAIMS[::5], *ORDINARY[::9], "I have.", "okay?"]
PIECES += ["ORD-12345", "\n\n", "- ", "**", "I have", "…", "Nr. 1", "<!-- x. -->", "[a](https://b.example)", "`", "é"]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), st.data())
def test_the_division_into_pieces_makes_no_difference(parts: list[str], data: st.DataObject) -> None:
    text = " ".join(parts)
    whole = gate(looked_up(CANCELLED))
    expected = whole.feed(text) + whole.settle()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    divided = gate(looked_up(CANCELLED))
    shown = [divided.feed(text[start:end]) for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join([*shown, divided.settle()]) == expected
    assert divided.stopped == whole.stopped


@given(st.text(max_size=300))
def test_any_text_goes_through_whole_or_ends_at_a_claim(text: str) -> None:
    judged, plain = gate(), OutputGate(frozenset())
    shown = judged.feed(text) + judged.settle()
    expected = plain.feed(text) + plain.close()
    assert shown == expected or (judged.stopped is not None and expected.startswith(shown))


@given(st.text(alphabet="abcdelmnorstéèüñçÉÜÑÇ 0123456789.-'", max_size=60))
def test_folding_twice_is_folding_once(text: str) -> None:
    once = folded(text)
    assert folded(once) == once or "&" in once


@pytest.mark.parametrize("seed", ["$", "1$", "-", "(", "no ", "ORD-1234 ", "refunded, ", "you are getting ", "A "])
def test_looking_for_claims_takes_a_time_that_grows_no_faster_than_the_text(seed: str) -> None:
    def seconds(length: int) -> float:
        """The least of three: the garbage of other tests may be collected in the midst of one."""
        text, took = folded(seed * (length // len(seed))), list[float]()
        for _ in range(3):
            begin = time.process_time()
            list(find_claims(text, WORDINGS))
            list(find_bare_claims(text, WORDINGS))
            took.append(time.process_time() - begin)
        return min(took)

    seconds(300)
    assert seconds(12_000) < 16 * max(seconds(3_000), 0.01)
