"""The words of claims, as they are read."""

import pytest

from bot.desk.claim_patterns import KINDS, load_wordings


@pytest.mark.parametrize("kind", KINDS)
def test_every_phrase_is_a_pattern_though_none_is_compiled_before_it_is_needed(kind: str) -> None:
    for wording in load_wordings():
        phrases = [pattern for known, patterns in wording.patterns.items() if known == kind for pattern in patterns]
        assert phrases
        assert all(pattern.regex.pattern == pattern.expression for pattern in phrases)
