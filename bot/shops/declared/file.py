"""What a connector's file can say. docs/reference/connector.schema.json is generated from these models.

ConnectorFile  The whole file: where the shop is, how it is asked, and what its answers mean.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from bot.checked_files import Part
from bot.shops.actions import ActionKind, RefusalReason
from bot.shops.declared.expressions import LENGTH_LIMIT, Expression

SECONDS_LIMIT = 14.0
"""The longest that one action's request can be waited for: a little less than the 15 s that a process has to end."""


def _expression(text: str) -> str:
    Expression(text)
    return text


def _at(value: object) -> object:
    """A field that is only an expression, in its long form."""
    return {"at": value} if isinstance(value, str) else value


def _verdict(value: object) -> object:
    if isinstance(value, str):
        return {"state": value}
    return {"state": "refused", **value} if isinstance(value, dict) else value


Query = Annotated[str, Field(min_length=1, max_length=LENGTH_LIMIT), AfterValidator(_expression)]
"""A JMESPath expression."""
Secret = Annotated[str, Field(pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]{0,99}|file:/.{1,400})$")]
"""Where a secret is: `env:NAME` or `file:/path`. No secret stands in the file itself."""
Path = Annotated[str, Field(pattern=r"^/[^/?#\s][^?#\s]*$", max_length=500)]
"""Below `base_url`, with placeholders."""
Template = Annotated[str, Field(max_length=500)]
Texts = Mapping[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:\[\]-]{1,80}$")], Template]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
RecordName = Literal["customer", "address", "order", "parcel", "product", "payment_method"]
Seconds = Annotated[float, Field(gt=0, le=SECONDS_LIMIT)]


class NoAuth(Part):
    """The shop needs no credentials."""

    kind: Literal["none"]


class BearerAuth(Part):
    """A token that does not change."""

    kind: Literal["bearer"]
    token: Secret


class BasicAuth(Part):
    """A user and a password (RFC 7617)."""

    kind: Literal["basic"]
    user: Secret
    password: Secret | None = None


class NamedAuth(Part):
    """A secret in a header or in the query."""

    kind: Literal["header", "query"]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")]
    value: Secret


class OAuthAuth(Part):
    """A token for the client itself (RFC 6749, section 4.4)."""

    kind: Literal["oauth_client_credentials"]
    token_url: Annotated[str, Field(pattern=r"^(https?://[^\s?#]+|env:[A-Za-z_][A-Za-z0-9_]{0,99})$", max_length=500)]
    client_id: Secret
    client_secret: Secret
    scope: Annotated[str, Field(max_length=500)] = ""
    audience: Annotated[str, Field(max_length=500)] = ""
    send: Literal["header", "body"] = "header"
    """Whether the client's secret goes into a header, as RFC 6749 recommends, or into the body."""


class HmacAuth(Part):
    """A signature of each request."""

    kind: Literal["hmac_sha256"]
    secret: Secret
    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")]
    over: Literal["body", "timestamp.body", "method.path.timestamp.body"] = "timestamp.body"
    """What is signed. The parts are joined by dots."""
    encoding: Literal["hex", "base64"] = "hex"
    timestamp_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")] = "X-Timestamp"
    """Where the time is sent, in seconds."""


Auth = Annotated[
    NoAuth | BearerAuth | BasicAuth | NamedAuth | OAuthAuth | HmacAuth,
    Field(discriminator="kind"),
]


class Limits(Part):
    """How the shop is treated, and how long it is waited for."""

    seconds: Annotated[float, Field(gt=0, le=9.5)] = 9.5
    """For one question with all its requests."""
    at_once: Annotated[int, Field(ge=1, le=100)] = 20
    per_second: Annotated[float, Field(gt=0, le=1_000)] | None = None
    bytes: Annotated[int, Field(ge=1_024, le=4_194_304)] = 262_144
    """Of one answer."""
    pages: Annotated[int, Field(ge=1, le=50)] = 5


class Verdict(Part):
    """What a status with a code means. Written as a word, or as `{refused: too_much}`."""

    state: Literal["not_found", "unauthorized", "unavailable", "busy", "in_progress", "done_before", "refused"]
    refused: RefusalReason | None = None

    @model_validator(mode="after")
    def _has_its_reason(self) -> Self:
        if (self.state == "refused") != (self.refused is not None):
            raise ValueError("is a word such as not_found, or {refused: a reason}")
        return self


StatusCode = Annotated[str, Field(pattern=r"^[1-5][0-9x]{2} (\*|[A-Za-z0-9_.:-]{1,80})$")]
"""A status and a code, such as `409 already_shipped`, `422 *` or `4xx *`."""


class Errors(Part):
    """How errors are told."""

    code: Query
    """Where the code is, in the body of every status but 2xx."""
    statuses: Mapping[StatusCode, Annotated[Verdict, BeforeValidator(_verdict)]] = Field(default_factory=dict)


class FieldSpec(Part):
    """Where a field is, and what it is. Only an expression, if nothing else is to be said."""

    at: Query | None = None
    value: Annotated[str, Field(max_length=120)] | None = None
    """The same for every record."""
    type: Literal["text", "id", "integer", "money", "time", "date", "boolean"] | None = None
    """Known from the field's name. A `date` is the midnight in UTC that it begins with."""
    unit: Literal["minor", "decimal"] | None = None
    """For money: whether 1999 or 19.99 is meant."""
    currency: Query | None = None
    """Without it, money has the currency of the record's total, else that of the file."""
    format: Annotated[str, Field(max_length=60)] | None = None
    """For times: `unix`, `unix_ms`, or a form such as `%d.%m.%Y %H:%M`, which is UTC without a zone."""
    map: Mapping[str, Annotated[str, Field(max_length=60)]] | None = None
    """The shop's words in ours."""
    otherwise: Annotated[str, Field(max_length=60)] | None = None
    """For words that `map` lacks. Without it, such a record cannot be used."""
    strip_prefix: Annotated[str, Field(min_length=1, max_length=20)] | None = None
    record: RecordName | None = None
    each: Query | None = None
    fields: Mapping[str, "Annotated[FieldSpec, BeforeValidator(_at)]"] | None = None


FieldMap = Mapping[str, Annotated[FieldSpec, BeforeValidator(_at)]]


class Call(Part):
    """A request: its method with the path, and what goes with it."""

    get: Path | None = None
    post: Path | None = None
    put: Path | None = None
    patch: Path | None = None
    delete: Path | None = None
    query: Texts = Field(default_factory=dict)
    headers: Texts = Field(default_factory=dict)
    json_: Annotated[Any, Field(alias="json"), WithJsonSchema({})] = None
    form: Texts | None = None

    @model_validator(mode="after")
    def _is_one_request(self) -> Self:
        if len(self._paths()) != 1:
            raise ValueError("needs one of get, post, put, patch and delete")
        if self.json_ is not None and self.form is not None:
            raise ValueError("has json or form, and not both")
        if self.json_ is not None and not isinstance(self.json_, (Mapping, list)):
            raise ValueError("has a json that is neither an object nor a list")
        if self.get and (self.json_ is not None or self.form is not None):
            raise ValueError("is a get, which has no body")
        return self

    def _paths(self) -> list[tuple[str, str]]:
        paths = {"GET": self.get, "POST": self.post, "PUT": self.put, "PATCH": self.patch, "DELETE": self.delete}
        return [(method, path) for method, path in paths.items() if path is not None]

    @property
    def method(self) -> str:
        """Its HTTP method."""
        return self._paths()[0][0]

    @property
    def path(self) -> str:
        """Its path, with placeholders."""
        return self._paths()[0][1]


class Pages(Part):
    """How the rest of a list is asked for."""

    kind: Literal["cursor", "page", "offset", "link"]
    query: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:\[\]-]{1,80}$")] | None = None
    """The name in the query. Not for `link` (RFC 8288)."""
    next: Query | None = None
    """For `cursor`: where the next one is."""
    first: Annotated[int, Field(ge=0, le=1)] = 1
    """For `page`: the number of the first."""
    last: Query | None = None
    """For `page`: where the number of the last is. Without it, the first empty page is the last."""
    step: Annotated[int, Field(ge=1, le=1_000)] | None = None
    """For `offset`: how many records a page has."""

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        needed = {"cursor": ("query", "next"), "page": ("query",), "offset": ("query", "step"), "link": ()}
        for name in needed[self.kind]:
            if getattr(self, name) is None:
                raise ValueError(f"needs {name} for pages by {self.kind}")
        return self


class LookUp(Call):
    """A question about records."""

    each: Query | None = None
    """Where the list of records is. Without it, the answer is one record."""
    record: RecordName
    pages: Pages | None = None


class Key(Part):
    """Where the idempotency key goes, and how long the shop remembers it."""

    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")] | None = None
    json_: Annotated[str | None, Field(alias="json", pattern=r"^[A-Za-z0-9_-]{1,80}$")] = None
    """The key of the body's object."""
    keeps: Annotated[str, Field(pattern=r"^[1-9][0-9]{0,3}[hd]$")] = "24h"

    @model_validator(mode="after")
    def _has_a_place(self) -> Self:
        if (self.header is None) == (self.json_ is None):
            raise ValueError("needs header or json")
        return self

    @property
    def hours(self) -> float:
        """How long the shop remembers it."""
        return int(self.keeps[:-1]) * (24.0 if self.keeps.endswith("d") else 1.0)


class QuoteCall(Call):
    """A question what an action would cost. It changes nothing."""

    amount: Annotated[FieldSpec, BeforeValidator(_at)]
    """What the customer gets, as money."""
    when: Query | None = None


class DoneWhen(Part):
    """How to see that an action was done, by reading."""

    look_up: Literal["get_order"] | None = None
    get: Path | None = None
    query: Texts = Field(default_factory=dict)
    is_: Annotated[Query | None, Field(alias="is")] = None
    """A condition over the mapped order, or over the body of the answer to `get`."""
    same: Literal["address"] | None = None
    """The order's field that equals what the customer wanted."""
    holds_before: bool = True
    """False: the condition names this very action, so it cannot be true before."""

    @model_validator(mode="after")
    def _is_one_question(self) -> Self:
        if (self.look_up is None) == (self.get is None):
            raise ValueError("needs look_up or get")
        if (self.is_ is None) == (self.same is None) or (self.get and self.same):
            raise ValueError("needs a condition in is, or the name of an order's field in same")
        return self


class ActionCall(Call):
    """A request that changes something."""

    words: Mapping[Literal["reason"], Mapping[str, Annotated[str, Field(max_length=120)]]] = Field(default_factory=dict)
    """Our words in the shop's."""
    key: Literal["none"] | Key
    """`none`: the shop knows no keys, so nothing is sent twice."""
    reference: Query | None = None
    """Where the answer has what staff find the action by."""
    money: Annotated[FieldSpec | None, BeforeValidator(_at)] = None
    """Where the answer says how much the customer really got."""
    quote: QuoteCall | None = None
    done_when: DoneWhen
    needs_reason: bool = False
    seconds: Seconds = SECONDS_LIMIT


class LookUps(Part):
    """The questions about records. Which of them are needed depends on what the connector serves."""

    find_customer: LookUp | None = None
    list_orders: LookUp | None = None
    get_order: LookUp | None = None
    track: LookUp | None = None
    get_product: LookUp | None = None
    payment_methods: LookUp | None = None


class ConnectorFile(Part):
    """A connector."""

    connector: Literal["http"]
    version: Annotated[int, Field(ge=1, le=1)]
    name: Annotated[str, Field(max_length=80)] = ""
    base_url: Annotated[str, Field(pattern=r"^(https?://[^\s?#]+|env:[A-Za-z_][A-Za-z0-9_]{0,99})$", max_length=500)]
    """Where all paths begin. `env:NAME` names a variable that has the address."""
    insecure: bool = False
    """True: `http://` may lead to another machine. `frontdesk check` says so each time."""
    auth: Auth
    currency: Currency | None = None
    """For amounts that come without one."""
    limits: Limits = Limits()
    headers: Texts = Field(default_factory=dict)
    """Sent with every request."""
    errors: Errors
    records: Mapping[RecordName, FieldMap]
    look_ups: LookUps
    actions: Mapping[ActionKind, ActionCall] = Field(default_factory=dict)
