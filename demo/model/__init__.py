"""A stand-in for a language model that speaks the OpenAI protocol. It follows rules; it understands nothing.

It can greet, look up orders and parcels with the tools it is offered, quote the passages it is given, call a
person and say that it does not know, in five languages. What it shows is the product around it.
"""
