"""Who rewrites questions for a search: in English words, as far as the glossary knows them. The pages are English."""

import re

from demo.model.conversation import Reply, Talk
from demo.model.quoting import search_words

_QUESTION = re.compile(r"<question>\s*(.*?)\s*</question>", re.DOTALL)


def rewrite(talk: Talk) -> Reply:
    """The question, which comes marked, as words to search for; unmarked, the whole text is the question."""
    found = _QUESTION.search(talk.whole)
    question = found[1] if found else talk.whole
    return Reply(search_words(question) or question)
