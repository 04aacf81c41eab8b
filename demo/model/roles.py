"""The desk's roles, and which of them a request speaks to."""

import re
from typing import Literal, get_args

from demo.model.conversation import Talk

Role = Literal[
    "answer", "triage", "lead", "check", "summary", "draft", "article", "compare", "danger", "rewrite", "title", "test"
]
ROLES: tuple[Role, ...] = get_args(Role)

_TEST = re.compile(r"\byou test a connection\b", re.IGNORECASE)
_WITHOUT_TOOLS: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("danger", re.compile(r"\bin danger\b", re.IGNORECASE)),
    ("title", re.compile(r"\bgives? a case\b.*\btitle\b", re.IGNORECASE)),
    ("rewrite", re.compile(r"\brewrites? (?:a |an |the )?question", re.IGNORECASE)),
    ("article", re.compile(r"\bwrites? (?:a |an |the )?(?:help )?article", re.IGNORECASE)),
    ("compare", re.compile(r"\bcompares? (?:a |an |the |two )?(?:new |help )?(?:article|page|text)", re.IGNORECASE)),
    ("summary", re.compile(r"\bsummar(?:y|i[sz])", re.IGNORECASE)),
    ("check", re.compile(r"\b(?:fact-)?check|\bverif", re.IGNORECASE)),
    ("draft", re.compile(r"\bwrites? (?:a |the )?(?:draft|repl)|\bdrafts? (?:a |the )?repl|\bvoice:", re.IGNORECASE)),
)


def role_of(talk: Talk) -> Role:
    """The role of a request, told by its tools and its instructions and by nothing else.

    test       the instructions say so
    lead       a tool asks a colleague (ask_…)
    triage     there are tools, and all of them hand over or call a person
    summary, check, draft, article, compare, danger, rewrite, title    there are no tools, and of the words for these
               the instructions have this one's first
    answer     everything else: a specialist, or the one agent of a desk without specialists
    """
    if _TEST.search(talk.instructions):
        return "test"
    if talk.tools.questions:
        return "lead"
    others = [offer for offer in talk.tools.offers if not offer.hands_over and offer != talk.tools.person]
    if talk.tools.handovers and not others:
        return "triage"
    return "answer" if talk.tools.offers else _told_by_words(talk.instructions)


def _told_by_words(instructions: str) -> Role:
    found = [(match.start(), role) for role, words in _WITHOUT_TOOLS if (match := words.search(instructions))]
    return min(found)[1] if found else "answer"
