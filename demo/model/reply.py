"""What the stand-in says or calls next. It follows rules over the request and knows nothing else."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from demo.model.checking import check
from demo.model.connecting import follow
from demo.model.conversation import Reply, Talk
from demo.model.danger import tell_danger
from demo.model.drafting import draft
from demo.model.lead import lead
from demo.model.learning import compare, write_article
from demo.model.rewriting import rewrite
from demo.model.roles import Role, role_of
from demo.model.specialist import answer
from demo.model.summing_up import sum_up
from demo.model.titling import give_title
from demo.model.triage import sort

_BY_ROLE: Mapping[Role, Callable[[Talk], Reply]] = {
    "answer": answer,
    "triage": sort,
    "lead": lead,
    "check": check,
    "summary": sum_up,
    "draft": draft,
    "article": write_article,
    "compare": compare,
    "danger": tell_danger,
    "rewrite": rewrite,
    "test": follow,
    "title": give_title,
}


def decide(talk: Talk) -> Reply:
    """Continue the conversation by one message."""
    reply = _BY_ROLE[role_of(talk)](talk)
    return replace(reply, text=_rest(talk, reply.text)) if talk.begun else reply


def _rest(talk: Talk, whole: str) -> str:
    """What is still to be said of `whole`; when something else was begun, that is ended and `whole` follows."""
    begun = talk.begun
    if whole and whole.startswith(begun):
        return whole[len(begun) :] or " "
    broken = re.search(r"\w*$", begun)
    start = broken[0] if broken else ""
    known = re.findall(r"\w+", "\n".join([whole, *talk.context]))
    word = next((word for word in known if start and word.startswith(start)), "")
    return f"{word[len(start) :] if word else '…'}\n\n{whole}".rstrip()
