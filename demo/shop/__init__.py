"""An invented shop's order system on loopback: the contract of docs/reference/shop-api.md, with seeded orders."""
