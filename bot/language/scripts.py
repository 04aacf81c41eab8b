"""Scripts that put no blanks between words."""

import re

IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""A range of a character class: signs that are words, or nearly so."""
SYLLABLES = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"
"""A range of a character class: Thai, Lao, Burmese, Khmer and kana."""
UNSEPARATED = re.compile(f"[{IDEOGRAPHS}{SYLLABLES}]")
"""A sign of a script that does not separate words."""
