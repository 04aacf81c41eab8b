"""How order numbers are written."""

import re

_ORDER_NUMBER = re.compile(r"[A-Z0-9][A-Z0-9_-]{0,39}")


def read_order_number(text: str) -> str:
    """The number as shops write it: in capitals, without a leading #. Raises ValueError if the text is no number."""
    number = text.strip(" ").removeprefix("#").upper()
    if not text.isascii() or not _ORDER_NUMBER.fullmatch(number):
        raise ValueError("an order number has 1 to 40 characters: A-Z, 0-9, - and _ only, as in ORD-10482")
    return number
