"""The fields that an endpoint refuses, and requests without them.

Servers that speak the same protocol differ in the optional fields that they take. A refusal that names a field of our
choice is answered with the same request without that field, and the endpoint's Dialect remembers it as long as the
process runs. `families.py` knows the fields that some models refuse before they are asked.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

from bot.agent.messages import JsonObject
from bot.agent.model import ModelFailure
from bot.agent.wording import INSTRUCTIONS
from bot.models.images import has_images, refuses_images, without_images

logger = logging.getLogger(__name__)

KNOWN = "known of this model"
"""Why a field is left out that the table of families lists."""
SYSTEM = "system"
"""The field that stands for the role of the instructions. Without it they begin the first message of the user."""
BREAKPOINT = "prompt_cache_breakpoint"
"""The mark at the end of the instructions, up to which a cache keeps a request for those that begin alike."""
STRICT = "strict"
"""The field in each tool."""
CALL_IDS = "tool_call_ids"
"""The field that stands for ids of calls that a server made and does not take back. Some servers make long ones before
Mistral's models, which take nine letters and digits."""
WORDS_WITH_CALLS = "words_with_calls"
"""The field that stands for what a message says beside its calls. Mistral's models before its fifth tokenizer take
messages with words or with calls."""
UNSIGNED_CALLS = "unsigned_calls"
"""The field that stands for calls without a signature. Gemini wants its own back from version 3 on, and a mark in its
place in the calls of other models."""
CALLS_WITHOUT_THOUGHTS = "calls_without_thoughts"
"""The field that stands for calls without the thoughts before them. DeepSeek and Kimi want thoughts before each call,
those of other models too."""
OUTPUT_TOKENS = "output_tokens"
"""The field that stands for the tokens of a reply beyond the highest limit that the server takes."""
IMAGES = "images"
"""The field that stands for all images. Without them, a note stands in the place of each."""
_RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""Names of one field. If a server refuses the first, it gets the other."""
_EFFORT = (
    r"\breasoning_effort\b|\breasoning\.effort\b"
    r"|\bdoes not support thinking\b|\bthink value\b|\binvalid reasoning value\b|\breasoningEffort\b"
    r"|\bthinking[_ ](?:level|budget)\b|\bBudget 0 is invalid\b"
)
"""The second line has the words of Ollama and xAI, the third those of Gemini."""
_OPTIONAL: Mapping[str, str] = {
    "temperature": r"\btemperature\b",
    "top_p": r"\btop_p\b",
    "stream_options": r"\bstream_options\b|\binclude_usage\b",
    "tool_choice": r"\btool_choice\b",
    "parallel_tool_calls": r"\bparallel_tool_calls\b",
    "max_tokens": r"\bmax_tokens\b",
    "max_completion_tokens": r"\bmax_completion_tokens\b",
    "max_output_tokens": r"\bmax_output_tokens\b",
    "reasoning_effort": _EFFORT,
    "reasoning": rf"{_EFFORT}|['\"`]reasoning['\"`]",
    "store": r"['\"`]store['\"`]",
    "include": r"['\"`]include['\"`]|\breasoning\.encrypted_content\b",
    "response_format": r"\bresponse_format\b|\bjson_schema\b",
    "text": r"\btext\.format\b|['\"`]text['\"`]",
    "prompt_cache_key": r"\bprompt_cache_key\b",
    "safety_identifier": r"\bsafety_identifier\b",
    BREAKPOINT: r"\bprompt_cache_breakpoint\b|\b(?:expected|be) (?:a |an )?(?:valid )?string\b"
    r"|\bSystem message must be at the beginning\b",
    CALL_IDS: r"(?i:\btool call id\b.{0,160}\blength of 9\b)",
    WORDS_WITH_CALLS: r"\beither content or tool_calls, but not both\b",
    UNSIGNED_CALLS: r"\bmissing a `?thought_signature\b",
    CALLS_WITHOUT_THOUGHTS: r"\breasoning_content\b.{0,40}\b(?:must be passed back|is missing)",
    STRICT: r"['\"`]strict['\"`]|\bfunction\.strict\b|\bInvalid schema for function\b",
    SYSTEM: r"(?i:\bsystem (?:role|messages?|prompts?|instructions?)\b.{0,40}\b(?:not |un)(?:supported|allowed|enabled)"
    r"|\bnot support .{0,20}\bsystem\b|\bdeveloper instruction is not enabled)",
}
"""The fields that code chooses to send, and how a refusal's words name each. Words of everyday language must be quoted
there."""
_NAMES = {field: re.compile(pattern) for field, pattern in _OPTIONAL.items()}
_ONLY_WITHOUT_EFFORT = re.compile(
    r"\b(?:function|tool)s?\b.{0,80}\breasoning_effort\b|\breasoning_effort\W{1,3}(?:(?:to|is) )?\W{0,2}none\b",
    re.IGNORECASE,
)
"""Words of a refusal of tools together with thinking: from GPT-5.4 on, Chat Completions takes tools with effort "none"
only."""
_LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
_REFUSED_VALUE = re.compile(
    r"\btoo (?:large|big|high|long|small|low)\b|\bat (?:most|least)\b|\b(?:maximum|minimum)\b|\bexceed"
    r"|\b(?:less|greater|more|larger|smaller|lower|higher) than\b|\bout of range\b"
    r"|\b(?:must|should) be\b(?! (?:used|omitted|removed|replaced|renamed|left out|unset)\b)",
    re.IGNORECASE,
)
"""Words of a refusal of a limit's value. The server knows the field."""
_NAMES_LIMIT = re.compile(r"\bmax(?:_completion|_output)?_tokens\b|\bmaximum tokens\b")
_INPUT = re.compile(r"\b(\d{1,9}) (?:input tokens|in the messages)\b")
_LEAST_LIMIT = 256
"""No server takes fewer tokens than this. Smaller numbers in a refusal are others."""
_LEAST_BESIDE_INPUT = 2_000
"""With less room than this, a conversation is shortened instead."""
_NAMED_BY_FAULTS = ("reasoning_effort", "reasoning", SYSTEM)
"""What llama.cpp and Ollama refuse with status 500, as if it were a fault of their own."""
_SIGNATURE = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
"""The mark that Google documents for calls that no Gemini made."""
_THOUGHTS = "I look this up."
"""Stands for the thoughts before a call of another model."""
_NEUTRAL = re.compile(r"[a-zA-Z0-9]{9}")
_WORDS_READ = 2_000


class Dialect:
    """What one endpoint is not sent. All requests to it share this."""

    def __init__(self, refused: Iterable[str] = (), *, takes_images: bool = False) -> None:
        self.left_out: dict[str, str] = dict.fromkeys(refused, KNOWN)
        """The fields, each with the reason: the refusal in the provider's masked words, or KNOWN."""
        self._is_without_effort = False
        """True if tools are taken with the effort "none" only."""
        self._refuses_none = False
        """True if that effort was refused with tools, too. The field is then never sent again."""
        self._takes_images = takes_images
        self._output_limit: int | None = None
        """The highest limit of a reply's tokens that the server takes. None if it has taken all so far."""

    @property
    def takes_images(self) -> bool:
        """Whether images are sent: the model is said to take them, and the server has not refused them yet."""
        return self._takes_images and IMAGES not in self.left_out

    def adjusted(self, body: JsonObject) -> JsonObject:
        """Return the body without what the endpoint refuses."""
        if not self.takes_images and has_images(body):
            body = without_images(body)
        if not self.left_out:
            return body
        body = {**body}
        if BREAKPOINT in self.left_out or SYSTEM in self.left_out:
            body = _without_breakpoint(body)
        if "tool_choice" in self.left_out and body.get("tool_choice") == "none" and not _has_calls(body):
            # Nothing else keeps the model from a call. Servers want the tools of the calls in a conversation.
            body.pop("tools", None)
        if self._is_without_effort and body.get("tools") and "messages" in body:
            body["reasoning_effort"] = "none"
        for field in self.left_out:
            match field:
                case "strict":
                    if tools := body.get("tools"):
                        body["tools"] = [_without_strict(tool) for tool in tools]
                case "prompt_cache_breakpoint":
                    pass
                case "tool_call_ids":
                    body = _with_neutral_ids(body)
                case "words_with_calls":
                    body = _with_calls_alone(body)
                case "unsigned_calls":
                    body = _with_signatures(body)
                case "calls_without_thoughts":
                    body = _with_thoughts(body)
                case "output_tokens":
                    body |= {each: min(body[each], self._output_limit or body[each]) for each in _LIMITS & body.keys()}
                case "system":
                    body = _with_instructions_in_words(body)
                case "reasoning_effort" if self._is_without_effort and body.get(field) == "none":
                    pass
                case _ if field in body:
                    value, other = body.pop(field), _RENAMED.get(field)
                    if other is not None and other not in self.left_out:
                        body[other] = value
        return body

    def learn(self, error: object, failure: ModelFailure, sent: JsonObject, *, model: str) -> bool:
        """Note the optional field of `sent` that an error's body names. False if it names none.

        `failure` is what the error means.
        """
        if failure.kind == "filtered":
            return False
        words = _words(error)[:_WORDS_READ]
        if (limit := _lower_limit(error, words, sent, is_beside_input=failure.kind == "context_length")) is not None:
            self._output_limit = limit
            self._note(OUTPUT_TOKENS, failure, model=model)
            return True
        if failure.kind == "context_length":
            return False
        if _NAMES[BREAKPOINT].search(words) and _is_in(BREAKPOINT, sent):
            # A server that wants plain text may mean the instructions, so images are tried once more without this.
            self._note(BREAKPOINT, failure, model=model)
            return True
        if has_images(sent) and refuses_images(words):
            self._note(IMAGES, failure, model=model)
            return True
        if failure.kind not in ("refused_request", "model_unreachable"):
            return False
        is_fault = failure.kind == "model_unreachable"
        if not is_fault and sent.get("tools") and "messages" in sent and _ONLY_WITHOUT_EFFORT.search(words):
            if sent.get("reasoning_effort") == "none":
                self._is_without_effort, self._refuses_none = False, True
                self._note("reasoning_effort", failure, model=model)
                return True
            if not self._refuses_none:
                self._is_without_effort = True
                self._note("reasoning_effort", failure, model=model)
                return True
        named = (each for each in named_fields(error) if not is_fault or each in _NAMED_BY_FAULTS)
        field = next((each for each in named if _is_in(each, sent)), None)
        if field is None:
            return False
        self._note(field, failure, model=model)
        return True

    def _note(self, field: str, failure: ModelFailure, *, model: str) -> None:
        if field not in self.left_out:
            self.left_out[field] = str(failure)
            told = {"model": model, "field": field, "reason": str(failure)}
            logger.warning("a model's server refuses a field: it is left out from here on", extra=told)


def named_fields(error: object) -> Iterator[str]:
    """The optional fields that an error's body names, those in its own place for that first.

    A limit is not among them if the error is about its value.
    """
    places, words = [*_places(error)], _words(error)[:_WORDS_READ]
    in_place = {part for place in places for part in re.findall(r"\w+", place)}
    kept = _LIMITS if _REFUSED_VALUE.search(words) else frozenset[str]()
    yield from (field for field in _OPTIONAL if field in in_place and field not in kept)
    yield from (field for field, name in _NAMES.items() if field not in kept and name.search(words))


def _lower_limit(error: object, words: str, sent: JsonObject, *, is_beside_input: bool) -> int | None:
    """The limit of a reply's tokens to send instead of a value that is refused. None if the refusal names none.

    `is_beside_input` is whether the limit does not fit into the model's window beside the input.
    """
    now = max((sent[each] for each in _LIMITS & sent.keys()), default=0)
    if is_beside_input:
        # Some servers count the input no further than to the first token too many, so this at least halves.
        found = _INPUT.search(words) is not None and now // 2 >= _LEAST_BESIDE_INPUT
        return now // 2 if found else None
    is_named = _NAMES_LIMIT.search(words) or any(place in _LIMITS for place in _places(error))
    if not is_named or not _REFUSED_VALUE.search(words):
        return None
    numbers = (int(each) for each in re.findall(r"\b\d{3,9}\b", words))
    return max((each for each in numbers if _LEAST_LIMIT <= each < now), default=None)


def _places(error: object) -> Iterator[str]:
    """The parameters that an error names: OpenAI's param, and the places of FastAPI's list, which Mistral wraps."""
    match error:
        case {"error": inner} | {"message": {"detail": _} as inner}:
            yield from _places(inner)
        case {"param": str(param)}:
            yield param[:_WORDS_READ]
        case {"detail": [*entries]}:
            for entry in entries[:20]:
                if isinstance(entry, Mapping) and isinstance(entry.get("loc"), list):
                    yield ".".join(str(part)[:80] for part in entry["loc"][:8])


def _words(error: object) -> str:
    match error:
        case str():
            return error
        case {"error": inner} | {"message": {"detail": _} as inner}:
            return _words(inner)
        case {"message": str(message)} | {"detail": str(message)}:
            return message
        case {"detail": [*entries]}:
            return " ".join(str(entry.get("msg", "")) for entry in entries[:20] if isinstance(entry, Mapping))
        case [first, *_]:
            return _words(first)
        case _:
            return ""


def _is_in(field: str, body: JsonObject) -> bool:
    match field:
        case "strict":
            return any(tool != _without_strict(tool) for tool in body.get("tools", ()))
        case "prompt_cache_breakpoint":
            return _without_breakpoint(body) is not body
        case "tool_call_ids":
            return _with_neutral_ids(body) != body
        case "words_with_calls":
            return _with_calls_alone(body) != body
        case "unsigned_calls":
            return _with_signatures(body) != body
        case "calls_without_thoughts":
            return _with_thoughts(body) != body
        case "system":
            return _with_instructions_in_words(_without_breakpoint(body)) != body
        case _:
            return field in body


def _has_calls(body: JsonObject) -> bool:
    """Whether the conversation, of either API, contains a call of a tool or its result."""
    return any(
        line.get("tool_calls") or line.get("role") == "tool" or str(line.get("type")).startswith("function_call")
        for line in (*body.get("messages", ()), *body.get("input", ()))
    )


def _with_neutral_ids(body: JsonObject) -> JsonObject:
    """The body of Chat Completions with nine letters and digits for each id of a call that has others."""
    return {**body, "messages": [_neutral_ids_in(line) for line in body["messages"]]} if "messages" in body else body


def _neutral_ids_in(line: JsonObject) -> JsonObject:
    if calls := line.get("tool_calls"):
        return {**line, "tool_calls": [{**call, "id": neutral_id(call["id"])} for call in calls]}
    return {**line, "tool_call_id": neutral_id(line["tool_call_id"])} if "tool_call_id" in line else line


def neutral_id(id_: str) -> str:
    """An id for a call that another server may have made: nine letters and digits, as Mistral takes no others."""
    return id_ if _NEUTRAL.fullmatch(id_) else f"c{blake2b(id_.encode(), digest_size=4).hexdigest()}"


def _with_calls_alone(body: JsonObject) -> JsonObject:
    """The body of Chat Completions whose messages with calls say nothing else."""
    if "messages" not in body:
        return body
    lines = [{**line, "content": None} if line.get("tool_calls") else line for line in body["messages"]]
    return {**body, "messages": lines}


def _with_signatures(body: JsonObject) -> JsonObject:
    """The body of Chat Completions in which the first call of each message has a signature. No other needs one."""
    if "messages" not in body:
        return body
    return {**body, "messages": [_signed(line) for line in body["messages"]]}


def _signed(line: JsonObject) -> JsonObject:
    match line.get("tool_calls"):
        case [first, *others] if "extra_content" not in first:
            return {**line, "tool_calls": [{**first, **_SIGNATURE}, *others]}
    return line


def _with_thoughts(body: JsonObject) -> JsonObject:
    """The body of Chat Completions in which thoughts stand before each call."""
    if "messages" not in body:
        return body
    lines = [
        {**line, "reasoning_content": _THOUGHTS}
        if line.get("tool_calls") and not line.get("reasoning_content")
        else line
        for line in body["messages"]
    ]
    return {**body, "messages": lines}


def _without_strict(tool: JsonObject) -> JsonObject:
    bare = {name: value for name, value in tool.items() if name != STRICT}
    if isinstance(function := bare.get("function"), dict):
        bare["function"] = {name: value for name, value in function.items() if name != STRICT}
    return bare


def with_breakpoint(lines: list[JsonObject], *, kind: str = "text") -> list[JsonObject]:
    """Return the lines with a breakpoint at the end of the instructions, if they begin with any."""
    match lines:
        case [{"role": "system", "content": str(text)} as first, *rest]:
            return [{**first, "content": [{"type": kind, "text": text, BREAKPOINT: {"mode": "explicit"}}]}, *rest]
    return lines


def _without_breakpoint(body: JsonObject) -> JsonObject:
    """The body with its instructions as plain text, where the protocol has them."""
    match body:
        case {"messages": [{"role": "system", "content": [{"text": text}]} as first, *rest]}:
            return {**body, "messages": [{**first, "content": text}, *rest]}
        case {"input": [{"role": "system", "content": [{"text": text}]}, *rest]}:
            return {**body, "instructions": text, "input": rest}
    return body


def _with_instructions_in_words(body: JsonObject) -> JsonObject:
    """The body with its instructions at the beginning of the first message, in a marked block."""
    match body:
        case {"messages": [{"role": "system", "content": instructions}, first, *rest]}:
            return {**body, "messages": [_led_by(instructions, first), *rest]}
        case {"instructions": instructions, "input": [first, *rest]}:
            body = {**body, "input": [_led_by(instructions, first), *rest]}
            del body["instructions"]
    return body


def _led_by(instructions: str, first: JsonObject) -> JsonObject:
    before, content = f"<{INSTRUCTIONS}>\n{instructions}\n</{INSTRUCTIONS}>\n\n", first["content"]
    if isinstance(content, list):
        return {**first, "content": [{**content[0], "text": before + content[0]["text"]}, *content[1:]]}
    return {**first, "content": before + content}
