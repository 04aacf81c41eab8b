"""What is known of families of models before they are asked: efforts, images, what they refuse, when they end.

Read in providers' documentation in November 2026. A name that is not here is asked as its server allows, and its
`Dialect` learns from refusals.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from bot.models.profile import Effort

DEFAULT_MODEL = "gpt-6-luna"
"""The model that answers if no setting names one: the small model that OpenAI's pages recommended on 23 November 2026.

The model before it, gpt-4.1-mini, ends on 14 January 2027."""
DEFAULT_EFFORT: Effort = "none"
"""The effort of the default model if no setting says another."""

_ENDS: Mapping[date, str] = {
    date(2026, 10, 23): "gpt-3.5-turbo gpt-4 gpt-4-turbo gpt-4.1-nano o1 o1-pro o3-mini o4-mini",
    date(2026, 12, 11): "gpt-5 gpt-5-mini gpt-5-nano gpt-5-pro o3 o3-pro",
    date(2027, 1, 14): "gpt-4o gpt-4o-mini gpt-4.1 gpt-4.1-mini",
    date(2027, 4, 1): "gpt-5.1 gpt-5.4-nano",
}
"""The last days of models at OpenAI, by its page on deprecations (24 November 2026). Azure has days of its own."""

_EFFORTS: Sequence[Effort] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class Family:
    """What a family of models is known for."""

    names: re.Pattern[str]
    """Matches the whole name in lower case, without a path, a prefix of fine-tuning, and a date."""
    efforts: tuple[Effort, ...] = ()
    """The efforts that it accepts, lowest first. Empty if that is unknown."""
    refuses: frozenset[str] = frozenset()
    """What it refuses of what code chooses to send, by the names that `Dialect` has for it."""
    takes: frozenset[str] = frozenset()
    """The fields beyond the protocol's common ones that its provider takes."""
    thinks: bool = False
    """Whether it thinks before it writes without being asked to, though its name does not say so. See
    `providers.reasons`."""


_ALL_BUT_MINIMAL: tuple[Effort, ...] = ("none", "low", "medium", "high", "xhigh", "max")
_SAMPLING = frozenset({"temperature", "top_p"})
_OF_OPENAI = frozenset({"prompt_cache_key", "safety_identifier", "strict", "response_format"})
_WITH_BREAKPOINTS = _OF_OPENAI | {"prompt_cache_breakpoint"}
"""From GPT-5.6 on, a cache holds what ends at a breakpoint, and nothing shorter."""
_FAMILIES = (
    Family(re.compile(r"gpt-6(?:-(?:luna|sol))?"), efforts=_ALL_BUT_MINIMAL, takes=_WITH_BREAKPOINTS),
    Family(re.compile(r"gpt-6\.1-terra"), efforts=_ALL_BUT_MINIMAL, takes=_WITH_BREAKPOINTS),
    # GPT-6 Astra, GPT-6.1 Sol, and those to come.
    Family(
        re.compile(r"gpt-(?:[6-9]|\d\d)(?:\.\d+)?(?:-(?:luna|sol|terra|astra))?"),
        efforts=("low", "medium", "high", "xhigh", "max"),
        takes=_WITH_BREAKPOINTS,
    ),
    Family(re.compile(r"gpt-5\.6(?:-(?:luna|sol|terra))?"), efforts=_ALL_BUT_MINIMAL, takes=_WITH_BREAKPOINTS),
    Family(
        re.compile(r"gpt-5\.[2-5](?:-(?:mini|nano|luna))?"),
        efforts=("none", "low", "medium", "high", "xhigh"),
        takes=_OF_OPENAI,
    ),
    Family(re.compile(r"gpt-5\.[2-9]-pro"), efforts=("medium", "high", "xhigh"), takes=_OF_OPENAI),
    Family(re.compile(r"gpt-5\.1(?:-(?:mini|nano))?"), efforts=("none", "low", "medium", "high"), takes=_OF_OPENAI),
    Family(re.compile(r"gpt-5-pro"), efforts=("high",), takes=_OF_OPENAI),
    Family(re.compile(r"gpt-5(?:-(?:mini|nano))?"), efforts=("minimal", "low", "medium", "high"), takes=_OF_OPENAI),
    Family(
        re.compile(r"o[1-9](?:-(?:mini|pro))?"), efforts=("low", "medium", "high"), refuses=_SAMPLING, takes=_OF_OPENAI
    ),
    Family(re.compile(r"gpt-4(?:\.1|o)(?:-(?:mini|nano))?"), takes=_OF_OPENAI),
    # Mistral's own server, as the package mistralai 2 and refusals that were reported show it.
    Family(
        re.compile(
            r"mistral-(?:tiny|small|medium|large)(?:-\d{4}|-\d(?:[.-]\d)?)?|ministral-(?:3b|8b|14b)(?:-\d{4})?"
            r"|(?:magistral|devstral)(?:-(?:small|medium))?(?:-\d{4})?|codestral(?:-\d{1,4})?"
            r"|pixtral-(?:12b|large)(?:-\d{4})?|open-mistral-(?:7b|nemo)(?:-\d{4})?|open-mixtral-8x(?:7b|22b)(?:-\d{4})?"
        ),
        efforts=("none", "high"),
        refuses=frozenset({"stream_options", "tool_call_ids"}),
        takes=frozenset({"prompt_cache_key", "strict", "response_format"}),
    ),
    # The same models on other servers, such as vLLM with Mistral's tokenizer.
    Family(
        re.compile(r"(?:open-)?(?:mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)(?:-[\w.-]*)?"),
        efforts=("none", "high"),
        refuses=frozenset({"tool_call_ids"}),
    ),
    Family(re.compile(r"claude-(?:[a-z]+-)?4[.-](?:[7-9]|\d\d)(?:-[a-z]+)?"), refuses=_SAMPLING),
    # Their thoughts count towards the limit of a reply. Claude and Gemini show none, so they are silent meanwhile.
    Family(re.compile(r"claude-(?:[a-z]+-)?[5-9](?:[.-]\d{1,2})?(?:-[a-z]+)?"), refuses=_SAMPLING, thinks=True),
    Family(
        re.compile(
            r"gemini-(?:[3-9]|\d\d)(?:\.\d+)?-(?:pro|flash)(?:-[\w.-]*)?|gemini-2\.5-pro(?:-[\w.-]*)?|gemini-(?:pro|flash)"
        ),
        efforts=("minimal", "low", "medium", "high"),
        thinks=True,
    ),
    Family(
        re.compile(r"gemini-2\.5-flash(?!-lite)(?:-[\w.-]*)?"),
        efforts=("none", "minimal", "low", "medium", "high"),
        thinks=True,
    ),
    Family(re.compile(r"gpt-oss(?:-[\w.-]*)?"), efforts=("low", "medium", "high"), thinks=True),
    Family(re.compile(r"kimi-k(?:2\.[5-9]|2-thinking|[3-9])(?:-[\w.-]*)?"), refuses=_SAMPLING, thinks=True),
    Family(re.compile(r"deepseek-(?:v[4-9]|r1|reasoner|flash)(?:-[\w.-]*)?"), thinks=True),
)
_TAKES_IMAGES = re.compile(
    r"gpt-4o|gpt-4\.1|gpt-(?:[5-9]|\d\d)(?!.*(?:codex|audio))|o[134](?:-pro)?$|o4-mini|claude-|gemini-|gemma-?[3-9]"
    r"|pixtral|mistral-small-(?:250[3-9]|251\d|2[6-9]\d\d|3\.[1-9]|4)|mistral-medium-(?:\d{4}|3)"
    r"|mistral-large-(?:2512|2[6-9]\d\d|3)|ministral-(?:3-)?\d{1,2}b-(?:.*-)?(?:2512|2[6-9]\d\d)|kimi-k(?:2\.[5-9]|[3-9])|llama-?4|grok-[4-9]|deepseek-flash$|.*(?:vl\b|vision|llava)"
)
_LATEST_TAKES_IMAGES = re.compile(r"mistral-(?:small|medium|large)-latest|ministral-\d{1,2}b-latest")
"""The names of Mistral's own server. Without the end, they are of older models elsewhere."""
_BEDROCK = re.compile(r"(?:[a-z-]{2,7}\.)?(?:anthropic|openai|mistral|deepseek|google|qwen)\.([a-z].*?)(?:-v\d)?")
"""A model's name at Amazon Bedrock, such as `eu.anthropic.claude-opus-4-8-v1`."""
_DATE = re.compile(r"[-@](?:latest|\d{4}-\d\d-\d\d|\d{8})$")


def family_of(name: str) -> Family | None:
    """Return the family of a model. None if it is not known."""
    bare = bare_name(name)
    return next((family for family in _FAMILIES if family.names.fullmatch(bare)), None)


def bare_name(name: str) -> str:
    """Return a model's name without what gateways, fine-tuning and dates add (`openai/gpt-5`, `ft:o4-mini:shop`)."""
    return _DATE.sub("", _dated_name(name))


def _dated_name(name: str) -> str:
    name = name.lower().removeprefix("ft:").rpartition("/")[2].partition(":")[0]
    at_bedrock = _BEDROCK.fullmatch(name)
    return at_bedrock[1] if at_bedrock else name


def end_of(name: str) -> date | None:
    """Return the last day of a model at OpenAI, or of what is fine-tuned on it. None if none is known."""
    bare = bare_name(name)
    return next((day for day, names in _ENDS.items() if bare in names.split()), None)


def accepted_effort(name: str, effort: Effort | None) -> Effort | None:
    """Return the effort that the model accepts and that is closest to `effort`, the lower of two."""
    family = family_of(name)
    if effort is None or family is None or not family.efforts or effort in family.efforts:
        return effort
    place = _EFFORTS.index(effort)
    return min(family.efforts, key=lambda each: abs(_EFFORTS.index(each) - place))


def least_effort(name: str) -> Effort:
    """Return the lowest effort that a model is known to accept."""
    family = family_of(name)
    return family.efforts[0] if family and family.efforts else "low"


def refused_fields(name: str) -> frozenset[str]:
    """Return the optional fields that a model is known to refuse."""
    family = family_of(name)
    return family.refuses if family else frozenset()


def takes_images(name: str) -> bool:
    """Return whether a model is documented to take images. For a name that is not known: False."""
    is_latest = _LATEST_TAKES_IMAGES.fullmatch(_dated_name(name)) is not None
    return is_latest or _TAKES_IMAGES.match(bare_name(name)) is not None


def thinks_unasked(name: str) -> bool:
    """Return whether a model of no name that says so is known to think before it writes."""
    family = family_of(name)
    return family is not None and family.thinks


def taken_fields(name: str) -> frozenset[str]:
    """Return the fields beyond the protocol's common ones that a model's provider is known to take."""
    family = family_of(name)
    return family.takes if family else frozenset()


def default_effort(name: str, effort: Effort | None) -> Effort | None:
    """Return the setting, or the default model's own effort if there is none."""
    return DEFAULT_EFFORT if effort is None and bare_name(name) == DEFAULT_MODEL else effort
