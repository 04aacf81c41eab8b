"""Tools: typed async functions that the model can call.

    @tool(title="Looking up the order")
    async def lookup_order(context: Context, order_id: Annotated[str, Field(max_length=40)]) -> Mapping[str, Any]:
        "Find one of the customer's own orders by its number."

The name, the docstring and the annotated parameters are the schema the model sees. Who asks and where comes
from our code as `context`, never from an argument. Tool sets are built by factories that close over their
backend: `order_tools(orders) -> tuple[Tool, ...]`.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from bot.conversation import Customer, ThreadRef

RESULT_LIMIT = 4_000
"""How many characters of one result the model reads."""
ARGUMENTS_LIMIT = 16_000
"""The largest number of characters in arguments. Longer ones are refused unread."""

_CUT = "\n[cut here: the result was longer]"


@dataclass(frozen=True, slots=True)
class Context:
    """Who a call serves and where, as verified by our code."""

    customer: Customer
    thread: ThreadRef
    turn: str
    """The turn's id."""
    call: str = ""
    """The id of the call being run."""
    side_effect: str = ""
    """For a call that changes something: a name made from its arguments, equal in all runs of the turn."""

    @property
    def logged(self) -> dict[str, int | str]:
        """The log fields of the turn: its number, and which of its runs this is."""
        parts = self.turn.split("/")
        number = next((part for part in parts if part.isdecimal()), None)
        if number is None:
            return {"turn": self.turn}
        parts.remove(number)
        return {"turn": int(number), **({"run": "/".join(parts)} if parts else {})}

    @property
    def key(self) -> str:
        """The idempotency key of this call. It is the same for every repetition after a crash.

        For a call that changes something it depends on the arguments. A turn that begins again after an edit gives
        its calls other ids, and still must do nothing twice.
        """
        return f"{self.turn.partition('/')[0]}:{self.side_effect}" if self.side_effect else f"{self.turn}:{self.call}"


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a tool, if a plain value does not say enough."""

    content: Mapping[str, Any] | str
    ok: bool = True
    """False if the tool ran and the answer is no, such as "not found" or "not possible"."""
    private: bool | None = None
    """Whether the result holds one customer's data. None means as declared for the tool."""
    ends: bool = False
    """Whether this call ended the turn and a person continues, as a call of a terminal tool does."""

    def text(self) -> str:
        """Return what the model reads, at most RESULT_LIMIT characters.

        Raises:
            ValueError, TypeError: it holds half a character, which could be neither stored nor sent.
        """
        text = self.content if isinstance(self.content, str) else _json(self.content)
        text.encode()
        return text if len(text) <= RESULT_LIMIT else text[: RESULT_LIMIT - len(_CUT)] + _CUT


def _json(content: Mapping[str, Any]) -> str:
    return orjson.dumps(dict(content), default=str, option=orjson.OPT_NON_STR_KEYS).decode()


class ToolProblem(Exception):
    """A tool's words to the model when it cannot do its work. They must be fit for the customer's eyes."""

    def __init__(self, words: str, *, code: str = "problem") -> None:
        super().__init__(words)
        self.code = code
        """The kind of error for the model, one stable word."""

    @property
    def error_type(self) -> str:
        """The code."""
        return self.code


class InvalidArguments(Exception):
    """The arguments do not fit the schema. `output` tells the model which field and why."""

    def __init__(self, output: ToolOutput) -> None:
        super().__init__("invalid arguments")
        self.output = output


ToolFunction = Callable[..., Awaitable[ToolOutput | Mapping[str, Any] | str]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model can call, with everything that the model must know about it."""

    name: str
    description: str
    title: str
    """The text of the customer's progress card while the tool runs."""
    schema: Mapping[str, Any]
    """The JSON Schema of the arguments object. Additional properties are forbidden."""
    arguments: type[BaseModel]
    function: ToolFunction
    timeout: float = 10.0
    """Seconds after which a call fails. The other calls of the round continue."""
    private: bool = False
    """True if results hold one customer's data."""
    terminal: bool = False
    """True if a successful call ends the turn and a person continues."""
    writes: bool = False
    """True if a call changes something.

    Such calls run one by one in their order. None is repeated because its answer did not come.
    """
    repeatable: bool = False
    """True if a call stores nothing anywhere, so that it can be made again after a crash.

    Its result is stored together with the step after it.
    """
    concurrency: int = 4
    """The number of calls of this tool that one turn runs at the same time."""
    subject: str = ""
    """The argument that the customer's progress card names. Its own check must let nothing pass but a plain name, such
    as an order's number. Empty for none."""

    def subject_of(self, arguments: BaseModel) -> str:
        """Return what a call with these arguments is about. Empty if the tool names nothing."""
        return str(getattr(arguments, self.subject)) if self.subject else ""

    def read(self, arguments: str) -> BaseModel:
        """Parse the arguments into the declared types. Raises InvalidArguments. Nothing is guessed or repaired.

        An optional argument can be null, as models write it that are held to a schema.
        """
        if len(arguments) > ARGUMENTS_LIMIT:
            raise InvalidArguments(_refusal([{"field": "", "problem": f"longer than {ARGUMENTS_LIMIT} characters"}]))
        try:
            return self.arguments.model_validate_json(arguments.strip() or "{}")
        except ValidationError as error:
            try:
                return self.arguments.model_validate_json(_without_nulls(arguments, self.arguments))
            except ValidationError:
                raise InvalidArguments(_refusal(_problems(error))) from None

    async def call(self, context: Context, arguments: BaseModel) -> ToolOutput:
        """Run the function with what `read` returned."""
        named = {name: getattr(arguments, name) for name in type(arguments).model_fields}
        output = await self.function(context, **named)
        return output if isinstance(output, ToolOutput) else ToolOutput(output)


def tool(
    *,
    title: str,
    timeout: float = 10.0,
    private: bool = False,
    terminal: bool = False,
    writes: bool = False,
    repeatable: bool = False,
    concurrency: int = 4,
    subject: str = "",
) -> Callable[[ToolFunction], Tool]:
    """Make a Tool of `async def name(context: Context, argument: Annotated[type, Field(...)], ...)`.

    The context can be of a subclass, if the turns run with that. Arguments are checked strictly: "17"
    is no integer, and an unknown argument is an error.

    Raises:
        TypeError: the function cannot be described to the model.
    """

    def build(function: ToolFunction) -> Tool:
        arguments = _arguments_model(function)
        if subject and subject not in arguments.model_fields:
            raise TypeError(f"tool {function.__name__} has no argument {subject}")
        return Tool(
            name=function.__name__,
            description=inspect.getdoc(function) or "",
            title=title,
            schema=_without_titles(arguments.model_json_schema()),
            arguments=arguments,
            function=function,
            timeout=timeout,
            private=private,
            terminal=terminal,
            writes=writes,
            repeatable=repeatable,
            concurrency=concurrency,
            subject=subject,
        )

    return build


def _arguments_model(function: ToolFunction) -> type[BaseModel]:
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"tool {function!r} must be an async function")
    if not function.__doc__:
        raise TypeError(f"tool {function.__name__} needs a docstring: it is what the model reads")
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())
    first = hints.get(parameters[0].name) if parameters else None
    if not (isinstance(first, type) and issubclass(first, Context)):
        raise TypeError(f"tool {function.__name__} must take `context: Context` first")
    rest = parameters[1:]
    if missing := [parameter.name for parameter in rest if parameter.name not in hints]:
        raise TypeError(f"tool {function.__name__} has arguments without a type: {', '.join(missing)}")
    fields: dict[str, Any] = {
        parameter.name: (
            hints[parameter.name],
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for parameter in rest
    }
    return create_model(function.__name__, __config__=ConfigDict(strict=True, extra="forbid"), **fields)


def _without_nulls(arguments: str, model: type[BaseModel]) -> str:
    """Return the arguments without those that are null and may be left out."""
    try:
        value = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
    if not isinstance(value, dict):
        return arguments
    optional = {name for name, field in model.model_fields.items() if not field.is_required()}
    return orjson.dumps({key: each for key, each in value.items() if each is not None or key not in optional}).decode()


def _without_titles(schema: Any) -> Any:
    """Return Pydantic's schema without its derived titles, which cost tokens and say nothing."""
    match schema:
        case dict():
            return {
                key: {name: _without_titles(inner) for name, inner in value.items()}
                if key in {"properties", "$defs"}
                else _without_titles(value)
                for key, value in schema.items()
                if key != "title"
            }
        case list():
            return [_without_titles(item) for item in schema]
        case _:
            return schema


def _refusal(problems: list[dict[str, str]]) -> ToolOutput:
    return ToolOutput(
        {
            "error": "invalid_arguments",
            "problems": problems,
            "hint": "Nothing was run. Mend the arguments and call again, or ask the customer for what is missing.",
        },
        ok=False,
        private=False,
    )


def _problems(error: ValidationError) -> list[dict[str, str]]:
    """Return one entry for each fault. Only the names of the arguments are repeated, not their values."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return [{"field": ".".join(map(str, fault["loc"]))[:80], "problem": fault["msg"][:200]} for fault in faults[:8]]
