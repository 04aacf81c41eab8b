"""What Fernwick sells: products with their variants, in the currency of the market that a product is sold in."""

from demo.shop.records import Json

_PRODUCTS: dict[str, tuple[str, str, tuple[str, ...], list[tuple[str, str, int, int]]]] = {
    # id: (title, currency, tags, variants as (id, options, price, available))
    "prd_ridgeline_w": (
        "Ridgeline rain jacket",
        "USD",
        (),
        [
            ("var_ridgeline_w_s_moss", "women's S, moss", 11_900, 4),
            ("var_ridgeline_w_m_moss", "women's M, moss", 11_900, 7),
            ("var_ridgeline_w_l_moss", "women's L, moss", 11_900, 0),
            ("var_ridgeline_w_m_ink", "women's M, ink", 12_900, 3),
        ],
    ),
    "prd_ridgeline_m": (
        "Ridgeline rain jacket",
        "IDR",
        (),
        [
            ("var_ridgeline_m_l_ink", "men's L, ink", 185_000_000, 5),
            ("var_ridgeline_m_xl_ink", "men's XL, ink", 185_000_000, 2),
        ],
    ),
    "prd_socks": (
        "Merino hiking socks",
        "USD",
        ("hygiene",),
        [
            ("var_socks_35", "35-37", 1_450, 30),
            ("var_socks_38", "38-40", 1_450, 42),
            ("var_socks_41", "41-43", 1_450, 18),
        ],
    ),
    "prd_hollow": (
        "Hollow 28 daypack",
        "USD",
        (),
        [
            ("var_hollow_slate", "slate", 8_950, 9),
            ("var_hollow_moss", "moss", 8_950, 4),
            ("var_hollow_ink", "ink", 9_450, 2),
            ("var_hollow_sale", "slate, last season", 6_950, 1),
        ],
    ),
    "prd_talus": (
        "Talus hiking shoes",
        "USD",
        (),
        [
            ("var_talus_38", "EU 38", 13_900, 3),
            ("var_talus_39", "EU 39", 13_900, 5),
            ("var_talus_40", "EU 40", 13_900, 6),
            ("var_talus_40_mid", "EU 40, mid cut", 15_400, 2),
        ],
    ),
    "prd_larch": ("Two-person tent Larch", "USD", (), [("var_larch", "", 32_900, 3)]),
    "prd_mat": (
        "Sleeping mat",
        "USD",
        (),
        [("var_mat_regular", "regular", 6_400, 12), ("var_mat_long", "long", 7_400, 5)],
    ),
    "prd_stove": ("Gas stove", "USD", (), [("var_stove", "", 5_200, 8)]),
    "prd_cairn": ("Cairn trekking poles", "GBP", (), [("var_cairn_pair", "pair", 6_400, 10)]),
    "prd_fell": (
        "Fell running shoes",
        "EUR",
        (),
        [("var_fell_39", "EU 39", 13_500, 2), ("var_fell_40", "EU 40", 13_500, 4)],
    ),
    "prd_drybag": ("Dry bag 10 l", "IDR", (), [("var_drybag", "", 21_500_000, 20)]),
    "prd_quilt": ("Down quilt", "USD", (), [("var_quilt_3", "3 season", 24_900, 2)]),
    "prd_bottle": ("Insulated bottle 750 ml", "JPY", (), [("var_bottle", "", 3_800, 25)]),
    "prd_chair": ("Camp chair", "SGD", (), [("var_chair", "", 9_900, 6)]),
    "prd_torch": ("Head torch 400 lm", "EUR", ("final_sale",), [("var_torch", "", 4_990, 14)]),
}


def products() -> dict[str, Json]:
    """Every product by its id, as it can be sent."""
    return {
        product: {
            "id": product,
            "title": title,
            "tags": list(tags),
            "variants": [
                {
                    "id": variant,
                    "title": f"{title}, {options}" if options else title,
                    "options": options,
                    "price": {"amount": price, "currency": currency},
                    "available": available,
                }
                for variant, options, price, available in variants
            ],
        }
        for product, (title, currency, tags, variants) in _PRODUCTS.items()
    }
