"""The languages are the files that exist, and a new one needs no more than its file."""

import shutil
import subprocess
import sys
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.errors import ConfigurationError
from bot.guard.claim_patterns import KINDS, load_wordings
from bot.language.languages import languages, load_languages, read_languages
from bot.language.matching import Matcher, compiled, load_matchers, matcher, phrases

BOT = Path(__file__).parents[2] / "bot"
LOCALES = BOT / "language" / "locales"
ENGLISH: dict[str, Any] = dict(load_languages()["en"])
OF_ITS_OWN = ("handover_requests.parts.", "streets.", "claims.endings.", "claims.lists.", "claims.marks.")
"""Sections whose keys differ between languages."""
STARTING = 60.0
"""Seconds for another process to import the product and read a few messages."""


def keys(held: Any, above: str = "") -> list[str]:
    """Every section and key, where keys are the same in all languages."""
    if not isinstance(held, dict) or above in OF_ITS_OWN:
        return []
    return [name for key, part in held.items() for name in (f"{above}{key}", *keys(part, f"{above}{key}."))]


def without(held: Any, name: str) -> Any:
    """The same without one key."""
    key, _, inner = name.partition(".")
    return {
        each: without(part, inner) if inner and each == key else part
        for each, part in held.items()
        if each != key or inner
    }


def faults_of(folder: Path, **files: Any) -> list[str]:
    """What is wrong with a folder of the shipped English and these files."""
    shutil.copy(LOCALES / "en.yml", folder)
    for language, held in files.items():
        text = held if isinstance(held, str) else yaml.dump(held, allow_unicode=True)
        (folder / f"{language}.yml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as told:
        read_languages(folder)
    return list(told.value.faults)


def test_english_comes_first_and_the_others_by_their_own_names() -> None:
    names = [held["name"] for held in load_languages().values()]
    assert languages()[0] == "en"
    assert names[1:] == sorted(names[1:])
    assert set(languages()) == {path.stem for path in LOCALES.glob("*.yml")}


def test_every_section_of_every_language_can_be_read() -> None:
    load_matchers()
    assert len(load_wordings()) == len(languages())


def test_each_section_and_key_that_is_missing_is_named(tmp_path: Path) -> None:
    by_depth = groupby(sorted(keys(ENGLISH), key=depth), key=depth)
    for level in [[*names] for _, names in by_depth]:
        for names in filter(None, (level[::2], level[1::2])):
            held = reduce(without, names, ENGLISH)
            assert sorted(faults_of(tmp_path, xx=held)) == sorted(map(missing, names))


def depth(name: str) -> int:
    return name.count(".")


def missing(name: str) -> str:
    return f"xx.yml: {name} is missing"


def test_every_fault_of_a_language_is_told_at_once(tmp_path: Path) -> None:
    held = without(without(ENGLISH, "stop"), "claims.pins")
    held |= {"stopp": "stopp", "thanks": {"word": "danke"}, "sentences": "none", "apologies": None}
    assert sorted(faults_of(tmp_path, xx=held)) == [
        "xx.yml: apologies must be a text or a list. A text may be empty",
        "xx.yml: claims.pins is missing",
        "xx.yml: sentences must have keys",
        "xx.yml: stop is missing",
        "xx.yml: stopp is unknown: en.yml has no such key",
        "xx.yml: thanks must be a text or a list. A text may be empty",
    ]


def test_a_file_that_is_empty_or_no_yaml_is_named(tmp_path: Path) -> None:
    assert faults_of(tmp_path, xx="") == ["xx.yml: it is empty"]
    (fault,) = faults_of(tmp_path, xx="name: [")
    assert fault.startswith("xx.yml: it is not YAML: ")


def test_without_english_there_is_no_language(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"en\.yml is missing"):
        read_languages(tmp_path)


SERVES = """
from bot.desk import addressing, courtesies, intents, policy
from bot.desk_file.model import DeskFile
from bot.guard.claim_patterns import KINDS, load_wordings
from bot.guard.claims import find_claims, folded
from bot.guard.guardrails import mask
from bot.guard.personal_data import without_personal
from bot.language.languages import languages
from bot.language.matching import load_matchers
from bot.language.sentences import language_for, language_of, load_sentences
from bot.views.home import for_customer

load_matchers()
assert languages()[-1] == "tlh", languages()
assert language_for("tlh-KL") == language_of("nuqDaq qoj jaj", "xx") == "tlh"
sentences = load_sentences()
assert sentences.say("tlh", "greeting") == "nuqneH"
assert "tlhIngan Hol" in str(for_customer(sentences, "tlh", open_cases=[], past=[], chosen="", desk=DeskFile()))
assert policy.asks_for_person("nuv vISuq, please") and policy.asks_for_person("nuv!")
assert courtesies.is_small_talk("nuqneH!") and not courtesies.affirms("nuqneH")
assert courtesies.affirms("qatlho', qapla'")
assert intents.says_stop("yImev") and intents.says_settled("rIn, qatlho’")
assert addressing.says_unsettled("Qapbe' wej")
assert addressing.asks("chay' vIta'")
assert mask("ngoq: hunter2x") == "ngoq: [secret]"
assert without_personal("juH He qeylIS 45.") == "juH [address]."
assert [claim.kind for claim in find_claims(folded("jih vimevta order ORD-12345."), load_wordings())] == ["cancelled"]
print("serves")
"""


def test_a_language_serves_as_soon_as_its_file_is_there(tmp_path: Path) -> None:
    held = {
        **ENGLISH,
        "name": "tlhIngan Hol",
        "common": "nuqdaq qoj jaj",
        "sentences": ENGLISH["sentences"] | {"greeting": "nuqneH"},
        "handover_requests": {
            "parts": {"person": "nuv"},
            "patterns": ["{person} visuq"],
            "alone": "nuv",
            "beside_alone": "",
        },
        "small_talk": "nuqneh",
        "thanks": "qatlho', qapla'",
        "stop": "yimev",
        "settled": "rin",
        "unsettled": "wej",
        "questions": ["chay'"],
        "secrets": {"names": "ngoq", "is": "oh"},
        "streets": {"word_name_number": "he"},
        "claims": {
            **ENGLISH["claims"],
            **{kind: ["vimevta=done"] if kind == "cancelled" else [] for kind in KINDS},
            "marks": ENGLISH["claims"]["marks"] | {"us": "jih"},
        },
    }
    copy_with_languages(tmp_path)
    (tmp_path / "bot" / "language" / "locales" / "tlh.yml").write_text(yaml.dump(held, allow_unicode=True), "utf-8")
    serving = subprocess.run(
        [sys.executable, "-c", SERVES],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{BOT.parent}"},
        capture_output=True,
        text=True,
        timeout=STARTING,
        check=False,
    )
    assert (serving.stdout, serving.returncode) == ("serves\n", 0), serving.stderr


def copy_with_languages(folder: Path) -> None:
    """The product in a folder, with files of languages of its own."""
    (folder / "bot").mkdir()
    for part in BOT.iterdir():
        if part.name != "language":
            (folder / "bot" / part.name).symlink_to(part)
    shutil.copytree(BOT / "language", folder / "bot" / "language")


def test_an_entry_is_found_as_customers_write_it() -> None:
    table = {
        "être humain": ("Un ÊTRE  humain", "un etre\nhumain"),
        "o[ù] est": ("Où est",),
        "(stop|halt)( it)?": ("Stop it!", "halt"),
        "that's it": ("That’s it",),
    }
    misses = [(entry, text) for entry, texts in table.items() for text in texts if not written(entry).is_in(text)]
    assert misses == []
    assert not written("o[ù] est").is_in("ou est")
    assert not written("halt").is_in("asphalt")


def written(entry: str) -> Matcher:
    return Matcher([compiled(entry, {})])


def test_the_whole_message_must_be_made_of_the_entries() -> None:
    thanks, beside = matcher("thanks"), matcher("beside_thanks", "assent", "agreement")
    assert thanks.is_all("👍🏽 Thanks!!", beside=beside)
    assert thanks.is_all("ok... thanks a lot (:+1::skin-tone-3:)", beside=beside)
    misses = [text for text in ("", "!", "ok", "thanks for", "nothanks") if thanks.is_all(text, beside=beside)]
    assert misses == []


def test_what_is_no_pattern_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"en": {"stop": "stop"}, "xx": {"stop": "halt, (sta"}}
    monkeypatch.setattr(
        "bot.language.matching.read_section", lambda name: {c: held[name] for c, held in broken.items()}
    )
    matcher.cache_clear()
    with pytest.raises(ConfigurationError, match=r"xx\.yml: stop: \(sta is not a pattern: missing \)"):
        matcher("stop")
    matcher.cache_clear()


def test_a_section_may_be_empty() -> None:
    assert phrases("") == []
    assert not Matcher([]).is_in("anything")
