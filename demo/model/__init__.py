"""A stand-in for a language model that speaks the OpenAI protocol. It follows rules; it understands nothing.

It plays whichever of a desk's roles a request speaks to, in five languages: it sorts messages, looks up orders and
parcels with the tools it is offered, quotes the passages it is given, hands over, calls a person, leads compound
requests, compares a draft's figures with its sources, sums up, drafts, and makes articles of what staff said. It says
when it does not know. What it shows is the product around it.

server.py responses.py   the protocol           script.py        replies that a test writes down beforehand
conversation.py          a request, read        roles.py         whom it speaks to
reply.py                 what is said to it     triage.py specialist.py lead.py checking.py summing_up.py drafting.py
                         learning.py
intents.py topics.py splitting.py language.py   what a customer means, by rules.yml and glossary.yml
requests.py memory.py                           each thing a message asks for, and what it refers to
quoting.py orders.py telling.py phrases.py person.py    the words of an answer, voices.yml those of a draft
"""
