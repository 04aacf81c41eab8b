"""A small help centre, invented, to build knowledge bases from."""

from pathlib import Path

PAGES = {
    "orders/returns.md": """\
---
title: Returning an item
url: https://help.example.com/returns
category: returns
last_updated: 2026-03-01
---
# Returning an item

You can send back anything within 30 days of delivery, as long as it is unused and in its original box.

## How to start a return

Open your order, choose "Return item" and print the label. Hand the parcel in at any post office.
The label is free for faulty goods; otherwise 4.90 EUR is taken off the refund.

## When the refund arrives

We refund to the card or account you paid with, five working days after the parcel has reached our warehouse.

## What cannot be returned

Light bulbs that have been switched on, engraved lamps and gift cards cannot be returned.
""",
    "orders/cancel.md": """\
---
title: Cancelling or changing an order
url: https://help.example.com/cancel
last_updated: 2026-02-10
---
## Cancelling

An order can be cancelled until it is packed, usually two hours after you have placed it. Use "Cancel" on the
order page; the money is released at once.

## Changing the delivery address

Write to us before the parcel leaves. Once it is on its way only the carrier can redirect it.
""",
    "shipping/delivery-times.md": """\
---
title: Delivery times and costs
url: https://help.example.com/delivery
category: shipping
last_updated: 2026-05-20
---
| Country | Standard | Express |
| --- | --- | --- |
| Germany | 2 days | next day |
| France | 3 days | 2 days |
| Spain | 5 days | 2 days |
| Indonesia | 12 days | 5 days |

Delivery is free from 50 EUR. Below that we charge 3.90 EUR for standard and 9.90 EUR for express.

## Tracking a parcel

The confirmation mail holds the tracking number. Scans appear up to a day late.

## A parcel that does not arrive

Ask your neighbours first, then write to us ten days after dispatch. We start a search with the carrier and send
a replacement when it finds nothing within a week.
""",
    "products/warranty.md": """\
# Warranty

All lamps carry a warranty of three years. It covers the switch, the cable and the driver, but no bulbs.

## Making a claim

Send a photograph of the fault and the number under the lamp's foot. Most claims are settled with a new part.
""",
    "products/dimming.md": """\
# Which lamps can be dimmed

Lamps with the letter D in their number can be dimmed with any trailing-edge dimmer. Others flicker.

```
AURORA-40D   dimmable
AURORA-40    not dimmable
```
""",
    "account/password.md": """\
---
title: Resetting your password
url: https://help.example.com/password
---
Choose "Forgotten password" on the sign-in page and type the e-mail address of your account. The link that we send
works for one hour. If nothing arrives, look into the folder for unwanted mail.
""",
    "account/delete.md": """\
# Deleting your account

Write to privacy@example.com from the address of your account. We erase everything that tax law does not make us
keep, within 30 days, and confirm it.
""",
    "payment/methods.md": """\
# How to pay

We take Visa, Mastercard, PayPal, SEPA direct debit and invoice. Invoices are due after 14 days and are open to
customers who have ordered before.

## A payment that fails

Banks ask for a second factor. If it is not confirmed within ten minutes the order is released again; nothing is
charged.
""",
    "payment/gift-cards.md": """\
# Gift cards

Gift cards are valid for four years and can be used for several orders. The balance stands at the bottom of the
basket page once the code is typed in.
""",
    "ja/henpin.md": """\
---
title: 返品について
language: ja
---
商品到着後30日以内であれば返品できます。未使用で元の箱に入っていることが条件です。返金は倉庫到着から5営業日後です。
""",
    "hours.txt": """\
Our people answer on weekdays from 9 to 17 o'clock, Central European Time, and on Saturdays until noon.
""",
}

FAQ = """\
id,question,answer,category
faq-1,Do you have a shop I can visit?,"Our showroom is in Leipzig, open Thursday to Saturday.",company
faq-2,Can I get an invoice in my company's name?,"Yes: type the company and its tax number at checkout.",payment
faq-3,Are the boxes recycled?,"All our boxes are recycled cardboard without plastic.",company
"""


def write_library(folder: Path) -> Path:
    """Write the help centre below `folder` and return it."""
    for name, text in PAGES.items():
        page = folder / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    (folder / "faq.csv").write_text(FAQ, encoding="utf-8")
    return folder
