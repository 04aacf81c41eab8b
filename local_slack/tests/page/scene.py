"""A workspace in the middle of a working day: every kind of message the product writes, and one being written."""

import asyncio
from typing import Any

from local_slack import agent_status, shapes, streams, timeline, views
from local_slack.server import build_workspace
from local_slack.workspace import Ack, Json, Stream, Workspace
from tests.patience import patience

CUSTOMER, AGENT = "U0CUSTOMERA", "U0AGENTA"
DM, AGENTS, SUPPORT = "D0CUSTOMERA", "C0AGENTS", "C0SUPPORT"


class Listener:
    """An app that takes every interaction and remembers it; `answers` are given in turn, then plain acks."""

    def __init__(self) -> None:
        self.interactions: list[tuple[str, Json]] = []
        self.events: list[Json] = []
        self.answers: list[Ack] = []
        self._heard = asyncio.Condition()

    def event(self, event: Json, **_: Any) -> None:
        self.events.append(event)

    def connection_url(self) -> str:
        return ""

    async def interact(self, kind: str, payload: Json) -> Ack:
        async with self._heard:
            self.interactions.append((kind, payload))
            self._heard.notify_all()
        return self.answers.pop(0) if self.answers else Ack(ok=True)

    async def hears(self, count: int) -> None:
        """Wait until there were this many interactions."""
        async with asyncio.timeout(patience(10)), self._heard:
            await self._heard.wait_for(lambda: len(self.interactions) >= count)


def build_scene() -> tuple[Workspace, Listener]:
    """A seeded workspace with an app that listens."""
    workspace, _ = build_workspace()
    listener = Listener()
    workspace.transport = listener
    workspace.online = 1
    return workspace, listener


def text(words: str, kind: str = "mrkdwn") -> Json:
    return {"type": kind, "text": words}


def button(action_id: str, label: str, value: str = "FD-1042", **more: Any) -> Json:
    return {"type": "button", "action_id": action_id, "text": text(label, "plain_text"), "value": value, **more}


def section(words: str, **more: Any) -> Json:
    return {"type": "section", "text": text(words), **more}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def context(words: str) -> Json:
    return {"type": "context", "elements": [text(words)]}


def footer(turn: int) -> list[Json]:
    """What stands under an answer: sources, feedback, the way to a person."""
    feedback = {
        "type": "feedback_buttons",
        "action_id": "fb",
        "positive_button": {"text": text("Helpful", "plain_text"), "value": f"FD-1042/{turn}/up"},
        "negative_button": {"text": text("Not helpful", "plain_text"), "value": f"FD-1042/{turn}/down"},
    }
    sources = (
        ":books: <https://help.example.com/returns|Returns policy> · "
        "<https://help.example.com/shipping|Shipping times>  ·  updated 12 Nov 2026"
    )
    return [
        context(sources),
        {"type": "context_actions", "elements": [feedback]},
        actions(button("esc.customer", "Talk to a person", f"FD-1042/{turn}")),
    ]


def case_card(moment: int) -> list[Json]:
    """A case that waits for somebody to claim it."""
    more = {
        "type": "overflow",
        "action_id": "case.more",
        "options": [
            {"text": text("Set priority", "plain_text"), "value": "prio/FD-1042"},
            {"text": text("Mark as spam", "plain_text"), "value": "spam/FD-1042"},
        ],
    }
    fields = [
        text(f"*Customer*\n<@{CUSTOMER}>"),
        text("*Priority*\n:red_circle: High"),
        text("*Why*\nasked for a person"),
        text(f"*Waiting*\n<!date^{moment}^since {{time}}|since 14:00>"),
    ]
    return [
        {"type": "header", "text": text("FD-1042 · Refund refused by policy", "plain_text")},
        {"type": "section", "fields": fields},
        section(
            "*Summary*  Wants order #1001 returned on day 34; policy is 30 days. Asked twice for an exception.\n"
            "*Tried*  order lookup, returns policy (KB-12)   *Next*  approve exception or offer store credit"
        ),
        actions(
            button("case.claim", "Claim", style="primary"), button("case.handback", "Hand back to assistant"), more
        ),
        context("order #1001 delivered 17 Oct · $129.98 · 3rd contact this month"),
    ]


def claimed_card() -> list[Json]:
    return [
        {"type": "header", "text": text("FD-1041 · Parcel lost between Leipzig and Kent", "plain_text")},
        section(":large_green_circle: *Claimed by <@U0AGENTA>* 14:03 · first reply due 14:13"),
        actions(
            button("case.resolve", "Resolve", "FD-1041", style="primary"),
            button("case.handback", "Hand back to assistant", "FD-1041"),
        ),
    ]


def post(workspace: Workspace, channel: str, thread_ts: str = "", **fields: Any) -> str:
    """A message by the app."""
    author = shapes.by_app(workspace, username=fields.pop("username", ""), icons=fields.pop("icons", None))
    place = {"thread_ts": thread_ts} if thread_ts else {}
    said = {"text": "", "blocks": [], **fields}
    return str(timeline.post(workspace, workspace.channel(channel), author | said | place)["ts"])


def start(workspace: Workspace, channel: str, thread_ts: str) -> Stream:
    author = shapes.by_app(workspace)
    return streams.start(workspace, workspace.channel(channel), author, thread_ts=thread_ts, display="timeline")


def task(id_: str, title: str, status: str, **more: Any) -> Json:
    return {"type": "task_update", "id": id_, "title": title, "status": status, **more}


def markdown(words: str) -> Json:
    return {"type": "markdown_text", "text": words}


def every_block() -> list[Json]:
    """One of each kind, as Slack's validator would let it pass."""
    option = {"text": text("By post", "plain_text"), "value": "post"}
    other = {"text": text("In a shop", "plain_text"), "value": "shop", "description": text("12 shops", "plain_text")}
    card = {
        "type": "card",
        "title": text("ORD-12345"),
        "subtitle": text("2 items · €129.98"),
        "body": text("Arrives on *Tuesday*."),
        "actions": [button("order.open", "Open")],
    }
    picture = {"type": "image", "image_url": "https://example.com/lamp.png", "alt_text": "A scratched lamp"}
    rich: Json = {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_section",
                "elements": [
                    {"type": "text", "text": "Bold", "style": {"bold": True}},
                    {"type": "text", "text": " and "},
                    {"type": "link", "url": "https://example.com", "text": "a link"},
                    {"type": "text", "text": " for "},
                    {"type": "user", "user_id": CUSTOMER},
                    {"type": "emoji", "name": "wave"},
                ],
            },
            {
                "type": "rich_text_list",
                "style": "bullet",
                "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "an item"}]}],
            },
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "tracking = 1Z999"}]},
            {"type": "rich_text_quote", "elements": [{"type": "text", "text": "It never came."}]},
        ],
    }
    cell = [{"type": "raw_text", "text": words} for words in ("Order", "Total", "ORD-1001", "€20.00")]
    return [
        {"type": "header", "text": text("Every block", "plain_text")},
        section("*Section* with `code` and an accessory", accessory=button("go", "Go")),
        {"type": "divider"},
        rich,
        {"type": "markdown", "text": "**Markdown** with a table\n\n| a | b |\n|---|---|\n| 1 | 2 |"},
        {"type": "alert", "level": "warning", "text": text("FD-1042 has waited *5 min* (target 5).")},
        {"type": "table", "rows": [cell[:2], cell[2:]], "column_settings": [{}, {"align": "right"}]},
        {"type": "image", **picture, "title": text("From the customer", "plain_text")},
        card,
        {"type": "carousel", "elements": [card, card | {"block_id": "second"}]},
        {
            "type": "container",
            "title": text("Details", "plain_text"),
            "is_collapsible": True,
            "child_blocks": [section("inside a container")],
        },
        {
            "type": "plan",
            "title": "Finding your parcel",
            "tasks": [
                {"type": "task_card", "task_id": "1", "title": "Read the order", "status": "complete"},
                {"type": "task_card", "task_id": "2", "title": "Ask the carrier", "status": "error"},
                {"type": "task_card", "task_id": "3", "title": "Write to the depot", "status": "pending"},
            ],
        },
        {
            "type": "actions",
            "elements": [
                {"type": "static_select", "action_id": "how", "options": [option, other]},
                {"type": "users_select", "action_id": "who"},
                {"type": "datepicker", "action_id": "when", "initial_date": "2026-11-21"},
                {"type": "radio_buttons", "action_id": "which", "options": [option, other], "initial_option": other},
                {"type": "checkboxes", "action_id": "all", "options": [option, other], "initial_options": [option]},
                {"type": "overflow", "action_id": "more", "options": [option, other]},
            ],
        },
        {"type": "context", "elements": [picture, text("a context with a picture")]},
        {"type": "hologram", "text": "from a later year"},
    ]


async def fill(workspace: Workspace) -> tuple[str, str]:
    """Play the day; the answers are the customer's open thread and the thread of the claimed case."""
    act = workspace.act
    first = await act.send(CUSTOMER, DM, "Can I return a lamp that arrived scratched?")
    stream = start(workspace, DM, first)
    streams.grow(
        workspace,
        stream,
        [
            task("kb", "Searching the help pages", "complete", details="returns, damaged goods"),
            markdown("Yes. Damaged items can be returned **within 60 days**, and we pay the postage.\n\n"),
            markdown("1. Open *Orders* and choose the lamp\n2. Attach a photo of the scratch\n3. Print the label\n\n"),
            markdown("The refund reaches you 3-5 working days after the parcel is scanned."),
        ],
    )
    streams.finish(workspace, stream, "completed", blocks=footer(1))
    await act.react(CUSTOMER, DM, stream.ts, "tada")

    general = await act.send("U0AGENTB", SUPPORT, "The returns page has new dates, <@U0FRONTDESK> knows them already.")
    await act.react(AGENT, SUPPORT, general, "eyes")

    root = post(workspace, AGENTS, blocks=claimed_card(), text="FD-1041")
    opener = (
        "Messages the *claimer* writes in this thread go to the customer (marked :outbox_tray: once delivered). "
        "Everyone else's are internal, and so is anything that starts with `//`."
    )
    post(workspace, AGENTS, root, blocks=[section(opener), context("Transcript: 6 messages attached below")])
    post(
        workspace,
        AGENTS,
        root,
        username="Customer B",
        icons={"emoji": ":bust_in_silhouette:"},
        text="It has said *in transit* for nine days now.",
    )
    sent = await act.send(
        AGENT, AGENTS, "I am sorry about that. I have asked the carrier to trace it today.", thread_ts=root
    )
    timeline.react(workspace, workspace.channel(AGENTS), sent, "outbox_tray", user="U0FRONTDESK", add=True)
    await act.send("U0AGENTB", AGENTS, "// the depot had a fire alarm on Tuesday", thread_ts=root)

    asked = await act.send(
        CUSTOMER, DM, "Status pesanan saya nomor ORD-12345 udah sampe mana? And who do I talk to about a refund?"
    )
    post(workspace, AGENTS, blocks=case_card(int(workspace.clock.time())), text="FD-1042")
    agent_status.set_status(workspace, DM, asked, "is looking that up...", [])
    live = start(workspace, DM, asked)
    streams.grow(
        workspace,
        live,
        [
            task("order", "Looking up order ORD-12345", "complete", details="Shipped on 18 November"),
            task("parcel", "Tracking 1Z999AA10123456784", "in_progress"),
            task("kb", "Searching the help pages", "complete", sources=SOURCES),
            markdown("Pesanan **ORD-12345** sudah dikirim pada 18 November. Paketnya sekarang di "),
        ],
    )
    return asked, root


SOURCES = [{"type": "url", "url": "https://help.example.com/refunds", "text": "Refunds"}]

MODAL: Json = {
    "type": "modal",
    "callback_id": "resolve",
    "title": text("Resolve FD-1041", "plain_text"),
    "submit": text("Resolve", "plain_text"),
    "close": text("Cancel", "plain_text"),
    "blocks": [
        {
            "type": "input",
            "block_id": "outcome",
            "label": text("Outcome", "plain_text"),
            "element": {
                "type": "static_select",
                "action_id": "outcome",
                "placeholder": text("What happened?", "plain_text"),
                "options": [
                    {"text": text("Refunded", "plain_text"), "value": "refunded"},
                    {"text": text("Sent again", "plain_text"), "value": "resent"},
                ],
            },
        },
        {
            "type": "input",
            "block_id": "note",
            "label": text("Note for the assistant", "plain_text"),
            "hint": text("The customer does not see it.", "plain_text"),
            "element": {"type": "plain_text_input", "action_id": "note", "multiline": True},
        },
        {
            "type": "input",
            "block_id": "learn",
            "optional": True,
            "label": text("Afterwards", "plain_text"),
            "element": {
                "type": "checkboxes",
                "action_id": "learn",
                "options": [{"text": text("Suggest this answer for the knowledge base", "plain_text"), "value": "yes"}],
            },
        },
    ],
}

HOME: Json = {
    "type": "home",
    "blocks": [
        {"type": "header", "text": text("Your cases", "plain_text")},
        section("*FD-1041*  Parcel lost · :large_green_circle: with Agent A", accessory=button("open", "Open")),
        {"type": "divider"},
        section("Nothing else is waiting. Ask me anything in *Messages*."),
        context("Answers come from the help pages; order data only from your own account."),
    ],
}


def open_modal(workspace: Workspace, user: str) -> Json:
    return views.show(workspace, user, MODAL, on_top=False)


def publish_home(workspace: Workspace, user: str) -> Json:
    return views.publish(workspace, user, HOME)
