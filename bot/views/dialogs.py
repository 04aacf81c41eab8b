"""Dialogs for staff, as pure functions that build modal views.

A dialog is named by its `callback_id`. Slack returns the input under the ids of its blocks, one value for each. The
`private_metadata` says what a dialog is about. The person who fills the dialog in can read it, and the code must not
trust it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from bot.desk_file.model import MAX_TAGS, DeskFile, Tag
from bot.shops.actions import ActionKind, Reason
from bot.shops.port import Address, Money, Order, OrderLine, PaymentMethod, Variant, minor_digits
from bot.slack.blocks import Block, capped, context, one_line, plain, section
from bot.slack.mrkdwn import escape
from bot.store.actions import Action
from bot.store.cases import Case
from bot.views.action_cards import NOTE_LIMIT as REFUSAL_LIMIT
from bot.views.action_cards import staff_title
from bot.views.staff_cards import PRIORITIES, causes_of, outcomes_to_choose

NOTE_LIMIT = 1_000
"""The most characters of a note."""
DRAFT_LIMIT = 3_000
"""The most characters of a reply. Slack accepts no more in a field."""
LATER = {"tomorrow": "Tomorrow at 09:00", "monday": "Monday at 09:00", "own": "My own time, below"}
"""Until when a case can be snoozed -> the words, in the desk's time zone."""
SEARCHED_STATES = {
    "open": "Open",
    "unassigned": "Unassigned",
    "claimed": "Claimed",
    "solved": "Solved or closed",
    "merged": "Merged",
    "assistant": "Back with the assistant",
}
"""What people can write for the state of a case they search for -> its words."""
SUGGEST = "suggest"
"""The value of `kb` if it is ticked."""
WITH_METHOD: frozenset[ActionKind] = frozenset({"change_order_payment", "change_order_items", "exchange_items"})
WITH_ADDRESS: frozenset[ActionKind] = frozenset({"change_order_address", "change_customer_address"})
WITHOUT_REASON: frozenset[ActionKind] = WITH_ADDRESS | {"change_order_items", "change_order_payment"}
VARIANTS_SHOWN = 30
ADDRESS_PARTS = (
    ("name", "Name", False),
    ("line1", "Street and number", False),
    ("line2", "Second line", True),
    ("postal_code", "Postal code", True),
    ("city", "City", False),
    ("region", "Region", True),
    ("country", "Country", False),
)
"""Each part of an address, its label, and whether it can be left out."""
WITH_LINES = frozenset({"cancel_lines", "return_items", "send_again", "refund"})
"""The kinds of changes for which staff choose pieces."""
LINES_ASKED = 40
"""Lines of an order that a dialog asks about."""
PIECES_ASKED = 90
"""The most pieces of a line that can be chosen."""
TITLE_LIMIT = 150
QUESTION_LIMIT = 400
ANSWER_LIMIT = 2_400
"""The most characters of an article's parts."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the shop offers for a change."""

    variants: Mapping[str, Sequence[Variant]] = field(default_factory=dict)
    """Line -> what it can become."""
    methods: Sequence[PaymentMethod] = ()


def hand_back(case: Case, *, about: str) -> Block:
    """Hand a case back. `note` is what the assistant should know."""
    words = "The assistant answers the customer again. It sees your note; no customer does."
    note = _text("note", "Note for the assistant", most=NOTE_LIMIT, lines=True, optional=True)
    return _modal("submit.handback", f"Hand back {case.ref}", "Hand back", context(words), note, about=about)


def resolve(case: Case, *, about: str, desk: DeskFile, tags: Collection[str] = ()) -> Block:
    """Resolve a case. `outcome` is how it ended, `cause` what it was about, and `kb` whether to suggest an article.

    `desk` has the choices. Nothing is asked that is known: no `tags` if the case has some (`tags` are the proposed
    ones), no cause if its tags say it, and no article if no person answered.
    """
    asked = [_radio("outcome", "How did it end?", outcomes_to_choose(desk), present="solved")]
    if desk.cases.tags and not case.tags:
        asked.append(_tag_menu(desk, tags))
    if not desk.cases.cause_of(case.tags):
        asked.append(_select("cause", "What was it about?", causes_of(desk)))
    if case.replied_at is not None:
        asked.append(_ticks("kb", "Knowledge base", {SUGGEST: "Suggest an article for the knowledge base"}))
    return _modal("submit.resolve", f"Resolve {case.ref}", "Resolve", *asked, about=about)


def tags(case: Case, *, about: str, desk: DeskFile, tags: Collection[str]) -> Block:
    """Choose the `tags` of a case. Those given are preselected: its own, or the proposed ones if it has none."""
    proposed = "" if case.tags or not tags else " The chosen ones are a proposal from what the customer wrote."
    words = f"Only the team sees tags. Lists, the search and the report use them.{proposed}"
    return _modal("submit.tags", f"Tags of {case.ref}", "Set", context(words), _tag_menu(desk, tags), about=about)


def _tag_menu(desk: DeskFile, chosen: Collection[str]) -> Block:
    labels = {name: tag.label for name, tag in desk.cases.tags.items()}
    return _several("tags", "Tags", labels, chosen=chosen, most=MAX_TAGS)


def article(*, title: str, question: str, answer: str, about: str) -> Block:
    """An article for the knowledge base. `title`, `question` and `answer` are filled in with the known texts."""
    words = "Customers will get answers from this, with its title as the source. Leave out whose case it was."
    return _modal(
        "submit.article",
        "Knowledge base",
        "Add article",
        context(words),
        _text("title", "Title", most=TITLE_LIMIT, initial=title),
        _text("question", "Question, as a customer would ask it", most=QUESTION_LIMIT, initial=question),
        _text("answer", "Answer", most=ANSWER_LIMIT, lines=True, initial=answer),
        about=about,
    )


def edit_draft(case: Case, *, text: str, about: str) -> Block:
    """Edit a draft before it is sent. `text` is its words."""
    words = context("This sends your reply to the customer, under your name.")
    block = _text("text", "Reply", most=DRAFT_LIMIT, lines=True, initial=text)
    return _modal("submit.draft", f"Reply in {case.ref}", "Send", words, block, about=about)


def which_reply(case: Case, *, names: Sequence[str], about: str) -> Block:
    """Choose the saved `reply` by its name. It is shown before it is sent."""
    chosen = _select("reply", "Which reply?", {name: name for name in names}, optional=False)
    return _modal("choose.saved", f"Reply in {case.ref}", "Next", chosen, about=about)


def saved_reply(case: Case, *, text: str, unfilled: Sequence[str], about: str) -> Block:
    """Edit a saved reply before it is sent. `text` is its words, and `unfilled` are the placeholders left in them."""
    words = "This sends your reply to the customer, under your name."
    if unfilled:
        words = f"{words} :warning: Fill in {', '.join(f'{{{name}}}' for name in unfilled)} first: it isn't known."
    block = _text("text", "Reply", most=DRAFT_LIMIT, lines=True, initial=text)
    return _modal("submit.saved", f"Reply in {case.ref}", "Send", context(words), block, about=about)


def edit_sent(case: Case, *, text: str, about: str) -> Block:
    """Edit a reply that was sent. `text` is what the customer reads now."""
    words = "The customer's copy changes, with the mark “edited”. Put // before the text to take it back."
    block = _text("text", "Reply", most=DRAFT_LIMIT, lines=True, initial=text)
    return _modal("submit.edit", f"Reply in {case.ref}", "Change it", context(words), block, about=about)


def priority(case: Case, *, about: str) -> Block:
    """Choose the `priority` of a case."""
    chosen = _radio("priority", "Priority", PRIORITIES, present=case.priority)
    return _modal("submit.priority", f"Priority of {case.ref}", "Set", chosen, about=about)


def spam(case: Case, *, about: str) -> Block:
    """Confirm that a case is closed as spam."""
    words = (
        f"Close {case.ref}? The customer is told that the team won't reply. "
        "They aren't asked for a rating, and the assistant answers what they write next."
    )
    return _modal("submit.spam", f"{case.ref} is spam", "Mark as spam", section(words), about=about)


def transfer(case: Case, *, desks: Mapping[str, str], about: str) -> Block:
    """Choose the `desk` that a case is transferred to. `desks` are channel -> name."""
    words = (
        f"{case.ref} waits there to be claimed. "
        "The customer is told that colleagues who know more about it have it now."
    )
    chosen = _select("desk", "Which desk?", desks, optional=False)
    return _modal("submit.transfer", f"Transfer {case.ref}", "Transfer", context(words), chosen, about=about)


def assign(case: Case, *, about: str) -> Block:
    """Choose the `person` who gets a case. `note` is what they should know."""
    words = "They get a direct message with a link to the card. The customer sees who answers from now on."
    person = _person("person", "Who gets it?", optional=False)
    note = _text("note", "Note for them", most=NOTE_LIMIT, lines=True, optional=True)
    return _modal("submit.assign", f"Assign {case.ref}", "Assign", context(words), person, note, about=about)


def later(case: Case, *, about: str) -> Block:
    """Choose until `when` a case is snoozed: a key of LATER, or the time in `own`."""
    words = "You're mentioned when the time comes. If the customer writes first, the snooze ends."
    own: Block = {
        "type": "input",
        "block_id": "own",
        "label": plain("Own time"),
        "element": {"type": "datetimepicker", "action_id": "own"},
        "optional": True,
    }
    chosen = _radio("when", "Until when?", LATER, present="tomorrow")
    return _modal("submit.later", f"Snooze {case.ref}", "Snooze", context(words), chosen, own, about=about)


def search(*, about: str, tags: Mapping[str, Tag]) -> Block:
    """Say what to search for. Each field is a term that people can type, and `words` are the rest."""
    words = "Cases of your desks, open or closed. What you leave empty doesn't matter."
    labels = {name: tag.label for name, tag in tags.items()}
    return _modal(
        "submit.search",
        "Search cases",
        "Search",
        context(words),
        _text("words", "Words, a name or a number", most=150, optional=True),
        _person("from", "Customer", optional=True),
        _person("owner", "Who has or had it", optional=True),
        _select("state", "State", SEARCHED_STATES),
        *([_select("tag", "Tag", labels)] if labels else []),
        _date("since", "Opened since"),
        _date("until", "Opened until"),
        about=about,
    )


BULK = {
    "tag": ("Add tags", "to tag", "Tagged"),
    "assign": ("Assign to a colleague", "to assign", "Assigned"),
    "resolve": ("Resolve", "to resolve. Each customer is told, and asked for a rating", "Resolved"),
    "merge": ("Merge into one", "to merge into one of them. Their customer is told", "Merged"),
    "spam": ("Close as spam", "to close as spam. Each customer is told that the team won't reply", "Closed as spam"),
}
"""What can be done with several cases -> its words as a choice, before it happens, and after."""


def choose_cases(cases: Sequence[Case], *, has_tags: bool, about: str) -> Block:
    """Choose which `cases` of a list to change, and `what` to do with them: a key of BULK."""
    words = "Take out the cases that stay as they are. The next step shows how many change."
    listed = {case.ref: f"{case.ref} · {case.title}" for case in cases}
    what = {name: choice for name, (choice, _, _) in BULK.items() if has_tags or name != "tag"}
    return _modal(
        "choose.cases",
        "Change cases",
        "Next",
        context(words),
        {**_several("cases", "Cases", listed, chosen=listed, most=len(listed)), "optional": False},
        _select("what", "What should happen?", what, optional=False),
        about=about,
    )


def change_cases(what: str, cases: Sequence[Case], *, left: Mapping[str, str], desk: DeskFile, about: str) -> Block:
    """Say how many cases change, and ask for the rest: `outcome` and `cause`, `person`, `tags`, or `into`.

    `left` are the chosen cases that stay as they are, with the reason.
    """
    choice, before, _ = BULK[what]
    count = f"*{len(cases)} {'case' if len(cases) == 1 else 'cases'}* {before}."
    lines = [f"• {each.ref} · {one_line(each.title, 80)} · {one_line(each.customer_name, 40)}" for each in cases]
    kept = [f"Left as they are: {', '.join(f'{ref} ({why})' for ref, why in left.items())}"] if left else []
    return _modal(
        "submit.cases",
        choice,
        f"{choice.split()[0]} {len(cases)}",
        section("\n".join([count, *lines])),
        *map(context, [*kept, "A case that changes before you press the button is left, too."]),
        *_asked_of_all(what, cases, desk),
        about=about,
    )


def _asked_of_all(what: str, cases: Sequence[Case], desk: DeskFile) -> list[Block]:
    match what:
        case "resolve":
            outcome = _radio("outcome", "How did they end?", outcomes_to_choose(desk), present="solved")
            return [outcome, _select("cause", "What were they about?", causes_of(desk))]
        case "assign":
            # Without a note: the erasure of a customer could not find one about several cases.
            return [_person("person", "Who gets them?", optional=False)]
        case "tag":
            return [{**_tag_menu(desk, ()), "optional": False}]
        case "merge":
            listed = {case.ref: f"{case.ref} · {case.title}" for case in cases}
            return [_select("into", "Merge into which case?", listed, optional=False)]
    return []


def changed_cases(what: str, done: Sequence[str], left: Mapping[str, str], *, into: str = "") -> str:
    """For the person who changed several cases: which ones changed, and why the others did not.

    `into` is the case that they were merged into.
    """
    _, _, after = BULK[what]
    after += f" into {escape(into)}" if into else ""
    changed = f"{after}: {', '.join(done)}." if done else "No case was changed."
    kept = f" Left as they are: {', '.join(f'{ref} ({why})' for ref, why in left.items())}." if left else ""
    return changed + kept


def merge(case: Case, *, others: Sequence[Case], about: str) -> Block:
    """Choose the case that this one is merged `into`. `others` are the customer's other cases."""
    words = (
        "New messages of this case go to the other case's thread. "
        "The customer is told, and gets your answers in their thread of that case."
    )
    named = {each.ref: f"{each.ref} · {each.title}" for each in others}
    chosen = _select("into", "Merge into which case?", named, optional=False)
    return _modal("submit.merge", f"Merge {case.ref}", "Merge", context(words), chosen, about=about)


def amount(action: Action, *, about: str) -> Block:
    """Offer the customer another `amount`, at most what they said yes to."""
    words = "The customer is asked again. If they say yes, it is sent without another approval of yours."
    money = Money(-action.money, action.currency)
    block = _number("amount", f"Amount in {action.currency}", most=money)
    return _modal("submit.amount", "Change the amount", "Offer it", context(words), block, about=about)


def waiting(ref: str, words: str, *, about: str) -> Block:
    """A dialog without fields: the shop is being asked, or it cannot be asked."""
    return {
        "type": "modal",
        "callback_id": "wait.change",
        "private_metadata": about,
        "title": plain(capped(f"A change in {ref}", 24)),
        "close": plain("Cancel"),
        "blocks": [section(words)],
    }


def which_change(case: Case, *, kinds: Sequence[str], orders: Sequence[Order], about: str) -> Block:
    """Choose the `kind` of a change and the `order` that it is about."""
    named = {kind: kind.replace("_", " ").capitalize() for kind in kinds}
    known = {order.id: f"{order.id} · {order.status.replace('_', ' ')} · {order.total}" for order in orders}
    return _modal(
        "choose.change",
        f"A change in {case.ref}",
        "Next",
        _select("kind", "What do you want to prepare?", named, optional=False),
        _select("order", "Which order?", known, optional=False),
        about=about,
    )


def change(case: Case, *, kind: ActionKind, order: Order, choices: Choices, is_at_once: bool, about: str) -> Block:
    """Fill in a change.

    `line/…` has the pieces of a line, `swap/…` the variant that a line becomes, `method` a payment method, `address/…`
    the parts of an address, `amount` what goes back instead of articles, and `reason` why.
    """
    words = f"{kind.replace('_', ' ').capitalize()} · {order.id} · {order.total}. " + (
        "This is made at once: the rules ask for no yes of the customer."
        if is_at_once
        else "The customer sees the details and has to say yes."
    )
    has_lines = kind in WITH_LINES
    lines = [_pieces(line) for line in order.lines[:LINES_ASKED]] if has_lines else []
    most = order.refundable or order.total
    amounts = [_number("amount", f"Or an amount in {most.currency}", most=most, optional=True)]
    reasons = {reason: reason.replace("_", " ").capitalize() for reason in get_args(Reason)}
    return _modal(
        "submit.change",
        f"A change in {case.ref}",
        "Prepare it",
        context(escape(words)),
        *lines,
        *(amounts if kind == "refund" and most.minor > 0 else []),
        *_swaps(order, choices),
        *_methods(kind, choices),
        *(_address(order.address if kind == "change_order_address" else None) if kind in WITH_ADDRESS else []),
        *([] if kind in WITHOUT_REASON else [_select("reason", "Why?", reasons, optional=False)]),
        about=about,
    )


def _swaps(order: Order, choices: Choices) -> list[Block]:
    """What each line becomes. None chosen: the line stays as it is."""
    blocks = []
    for line in order.lines:
        if variants := choices.variants.get(line.id):
            known = {each.id: f"{each.title} · {each.price}" for each in variants[:VARIANTS_SHOWN]}
            blocks.append(_select(f"swap/{line.id}", capped(f"{line.title} × {line.quantity} becomes", 150), known))
    return blocks


def _methods(kind: ActionKind, choices: Choices) -> list[Block]:
    if not choices.methods:
        return []
    known = {each.method_id: each.label for each in choices.methods[:VARIANTS_SHOWN]}
    label = "Pay with" if kind == "change_order_payment" else "A difference is paid with, or goes back to"
    return [_select("method", label, known, optional=kind != "change_order_payment")]


def _address(present: Address | None) -> list[Block]:
    """The parts of an address. What the order has now is filled in."""
    return [
        _text(
            f"address/{part}", label, most=100, optional=is_optional, initial=getattr(present, part) if present else ""
        )
        for part, label, is_optional in ADDRESS_PARTS
    ]


def refusal(action: Action, *, about: str) -> Block:
    """Refuse a change. `note` is what the customer reads about it."""
    words = f"{staff_title(action)}. Nothing is changed, and the customer is told that a colleague said no."
    note = _text("note", "Reason, in the customer's language", most=REFUSAL_LIMIT, lines=True, optional=True)
    return _modal("submit.refusal", "Refuse this", "Refuse", context(escape(words)), note, about=about)


def filled_in(values: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, str | list[str]]:
    """Block id -> its value in a submitted view's state: a text, the value of an option, or an id. Several values are a
    list. A time is in seconds since 1970."""
    return {block: _held(element) for block, elements in values.items() for element in elements.values()}


def _held(element: Mapping[str, object]) -> str | list[str]:
    match element:
        case {"selected_options": list(options)}:
            return [str(option["value"]) for option in options]
        case {"selected_option": {"value": value}}:
            return str(value)
    chosen = (f"selected_{kind}" for kind in ("date_time", "date", "user", "conversation", "channel"))
    return next((str(element[name]) for name in ("value", *chosen) if element.get(name)), "")


def _modal(callback_id: str, title: str, submit: str, *blocks: Block, about: str) -> Block:
    return {
        "type": "modal",
        "callback_id": callback_id,
        "private_metadata": about,
        "title": plain(capped(title, 24)),
        "submit": plain(capped(submit, 24)),
        "close": plain("Cancel"),
        "blocks": list(blocks),
    }


def _text(
    block_id: str, label: str, *, most: int, lines: bool = False, optional: bool = False, initial: str = ""
) -> Block:
    element = {"type": "plain_text_input", "action_id": block_id, "multiline": lines, "max_length": most}
    if initial:
        element["initial_value"] = capped(initial, most)
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element, "optional": optional}


def _pieces(line: OrderLine) -> Block:
    """How many pieces of a line. None chosen: the line stays out of it."""
    counts = {str(number): f"{number} of {line.quantity}" for number in range(1, min(line.quantity, PIECES_ASKED) + 1)}
    return _select(f"line/{line.id}", capped(line.title, 150), counts)


def _number(block_id: str, label: str, *, most: Money, optional: bool = False) -> Block:
    """An amount of money, from one minor unit to `most`, which is filled in unless it is optional."""
    element = {
        "type": "number_input",
        "action_id": block_id,
        "is_decimal_allowed": minor_digits(most.currency) > 0,
        "min_value": Money(1, most.currency).figure,
        "max_value": most.figure,
        **({} if optional else {"initial_value": most.figure}),
    }
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element, "optional": optional}


def _radio(block_id: str, label: str, choices: Mapping[str, str], *, present: str) -> Block:
    """A choice of one option, value -> text. `present` is preselected."""
    chosen = _option(present, choices[present])
    element = {"type": "radio_buttons", "action_id": block_id, "options": _options(choices), "initial_option": chosen}
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element}


def _select(block_id: str, label: str, choices: Mapping[str, str], *, optional: bool = True) -> Block:
    """A menu to choose one option, or none if it is optional."""
    element = {"type": "static_select", "action_id": block_id, "options": _options(choices)}
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element, "optional": optional}


def _person(block_id: str, label: str, *, optional: bool) -> Block:
    element = {"type": "users_select", "action_id": block_id}
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element, "optional": optional}


def _date(block_id: str, label: str) -> Block:
    element = {"type": "datepicker", "action_id": block_id}
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element, "optional": True}


def _several(block_id: str, label: str, choices: Mapping[str, str], *, chosen: Collection[str], most: int) -> Block:
    """A menu to choose up to `most` options, or none. Those of `chosen` that there are, are preselected."""
    element: Block = {
        "type": "multi_static_select",
        "action_id": block_id,
        "options": _options(choices),
        "max_selected_items": most,
    }
    if present := {value: text for value, text in choices.items() if value in chosen}:
        element["initial_options"] = _options(present)
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element, "optional": True}


def _ticks(block_id: str, label: str, choices: Mapping[str, str]) -> Block:
    """Checkboxes, of which any number can be ticked."""
    element = {"type": "checkboxes", "action_id": block_id, "options": _options(choices)}
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element, "optional": True}


def _options(choices: Mapping[str, str]) -> list[Block]:
    return [_option(value, text) for value, text in choices.items()]


def _option(value: str, text: str) -> Block:
    return {"text": plain(capped(text, 75)), "value": value}
