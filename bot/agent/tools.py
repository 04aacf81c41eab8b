"""Tools: typed async functions that the model may ask for.

    @tool(title="Looking up the order")
    async def lookup_order(context: Context, order_id: Annotated[str, Field(max_length=40)]) -> Mapping[str, Any]:
        "Find one of the customer's own orders by its number."

The name, the docstring and the annotated parameters are the schema the model sees. Who asks and where comes
from code as `context`, never from an argument. Tool sets are built by factories that close over their
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
"""Characters of one result that the model gets to read."""
ARGUMENTS_LIMIT = 16_000
"""Characters of arguments that are looked at; longer ones are refused unread."""

_CUT = "\n[cut here: the result was longer]"


@dataclass(frozen=True, slots=True)
class Context:
    """Whom a call serves and where, as code has verified it."""

    customer: Customer
    thread: ThreadRef
    turn: str
    """The turn's id."""
    call: str = ""
    """The id of the call being run."""
    side_effect: str = ""
    """Of a call that changes something: a name for what it asks for, the same in all runs of the turn."""

    @property
    def logged(self) -> dict[str, int | str]:
        """The turn as a line of the log names it: its number, as everywhere else, and which of its runs this is."""
        parts = self.turn.split("/")
        number = next((part for part in parts if part.isdecimal()), None)
        if number is None:
            return {"turn": self.turn}
        parts.remove(number)
        return {"turn": int(number), **({"run": "/".join(parts)} if parts else {})}

    @property
    def key(self) -> str:
        """The same for every repetition of this call after a crash: its idempotency key.

        What changes something goes by what it asks for, since a turn that begins again with other words gives its
        calls other ids, and does nothing twice.
        """
        return f"{self.turn.partition('/')[0]}:{self.side_effect}" if self.side_effect else f"{self.turn}:{self.call}"


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool found, where the plain value does not say enough."""

    content: Mapping[str, Any] | str
    ok: bool = True
    """False: the tool ran and has to say no (not found, not possible)."""
    private: bool | None = None
    """None: as the tool was declared."""

    def text(self) -> str:
        """What the model reads, at most RESULT_LIMIT characters.

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
        """What the model reads as the kind of error, one stable word."""


class InvalidArguments(Exception):
    """The arguments do not fit the schema; `output` tells the model which field and why."""

    def __init__(self, output: ToolOutput) -> None:
        super().__init__("invalid arguments")
        self.output = output


ToolFunction = Callable[..., Awaitable[ToolOutput | Mapping[str, Any] | str]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call, with what it has to know to call it."""

    name: str
    description: str
    title: str
    """What the customer's progress card says while it runs."""
    schema: Mapping[str, Any]
    """JSON Schema of the arguments object; additional properties are forbidden."""
    arguments: type[BaseModel]
    function: ToolFunction
    timeout: float = 10.0
    """Seconds; the others of the round go on."""
    private: bool = False
    """True: results hold one customer's data."""
    terminal: bool = False
    """True: a successful call ends the turn, and a person goes on."""
    writes: bool = False
    """True: a call changes something. Such calls run one by one in the order they were asked, and none is repeated
    because its answer did not come."""
    concurrency: int = 4
    """Calls of this tool that one turn runs at the same time."""

    def read(self, arguments: str) -> BaseModel:
        """The arguments, whole and of the declared types. Raises InvalidArguments; nothing is guessed or mended."""
        if len(arguments) > ARGUMENTS_LIMIT:
            raise InvalidArguments(_refusal([{"field": "", "problem": f"longer than {ARGUMENTS_LIMIT} characters"}]))
        try:
            return self.arguments.model_validate_json(arguments.strip() or "{}")
        except ValidationError as error:
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
    concurrency: int = 4,
) -> Callable[[ToolFunction], Tool]:
    """Make a Tool of `async def name(context: Context, argument: Annotated[type, Field(...)], ...)`.

    The context may be of a subclass, if that is what the turns are run with. Arguments are checked strictly: "17"
    is no integer, an unknown argument is an error. TypeError for a function the model could not be told about.
    """

    def build(function: ToolFunction) -> Tool:
        arguments = _arguments_model(function)
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
            concurrency=concurrency,
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


def _without_titles(schema: Any) -> Any:
    """Pydantic's schema without the titles it derives from the names: tokens that say nothing."""
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
    """One entry a fault. What the model sent is not repeated, save the names of its arguments."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return [{"field": ".".join(map(str, fault["loc"]))[:80], "problem": fault["msg"][:200]} for fault in faults[:8]]
