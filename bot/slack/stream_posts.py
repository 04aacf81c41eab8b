"""The words of an answer in posts: where Slack does not stream, after a failed stream, and after a crash.

inherit  stop what a dead process left of the answer
edit     show the text so far in a post that is replaced as the words come
show     show a whole message: in a message that is there already, or in a new post
discard  delete the messages that were not needed
"""

import logging
from collections.abc import Sequence

from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import Block
from bot.slack.mrkdwn import to_mrkdwn
from bot.slack.place import is_streaming
from bot.slack.stream_pace import StreamPace
from bot.slack.stream_record import StreamRecord

logger = logging.getLogger(__name__)


class PostedMessages:
    """Shows words without streaming. Each message of the answer is posted once, whatever is not answered."""

    def __init__(self, record: StreamRecord, pace: StreamPace, adopt: Sequence[str] | None) -> None:
        self.adopt = adopt
        """The messages that a dead process reported, until they are looked for in the thread."""
        self.keeps_inherited = False
        """Whether the messages of a dead process stay as they are."""
        self.draft: str | None = None
        """The ts of the post that is replaced. It is also the first of the inherited messages."""
        self._record = record
        self._place = record.place
        self._answer = record.answer
        self._pace = pace
        self._drafted: tuple[int, str] | None = None
        """How far the post shows the text, and what opens a code fence again after that. None if this is unknown."""
        self._lost_post: tuple[str, Sequence[Block] | None] | None = None
        """The text and blocks of a post that was not answered."""
        self._found_there: dict[str, str] = {}
        """What the app's messages in the thread showed when this writer took over."""
        self._to_stop: list[str] = []
        """Messages of a dead process that may still be streaming."""

    async def inherit(self) -> None:
        """Stop what a dead process left. When the text is complete, it replaces these messages without streaming."""
        if self.adopt is not None:
            there = {message["ts"]: message for message in await self._place.own_messages(since=None)}
            others = await self._record.others()
            left = [ts for ts, one in there.items() if self._place.is_ours(one, others)]
            self._record.inherited = sorted({*self.adopt, *left})
            self._found_there = {ts: str(one.get("text") or "") for ts, one in there.items()}
            # Stops are scarce. So only streaming messages are stopped, or, if the thread can't be read, the one that
            # may stream.
            streaming = [ts for ts in left if is_streaming(there[ts])]
            self._to_stop = streaming if there else list(self.adopt[-1:])
            if self._record.inherited:
                self._record.mode = "at_end"
            self.adopt = None
        while self._to_stop:
            await self._place.end(self._to_stop[0])
            del self._to_stop[0]

    async def edit(self) -> bool:
        """Show the text so far in a post: a new one or the existing one. False if there is nothing to do now."""
        part, known = self._answer.draft(), self._drafted
        if not part.text or (known is not None and part.to <= known[0] and part.is_last):
            return False
        self._record.note_sent(part.to)
        self._drafted = None
        try:
            if self.draft is None:
                self.draft = await self._posted(part.text, None)
                if self.draft is None:
                    self.draft = self._record.inherited[0]
                    self._pace.more.set()
                    return False
                self._record.inherited.insert(0, self.draft)
            else:
                await self._place.update(self.draft, part.text, None, at_once=True)
        except SlackRefused:
            self._record.mode, self._drafted = "at_end", known
            return False
        except SlackUnanswered as failure:
            if not failure.sent:
                self._drafted = known
            if failure.reason != "ratelimited":
                raise
            self._pace.hold_back(failure)
            return False
        self._drafted = part.to, part.opening
        if not part.is_last:
            self._leave_draft(self.draft, part.to, part.opening)
        return not part.is_last

    async def show(self, text: str, blocks: Sequence[Block] | None) -> bool:
        """Show a message. False if an existing message already holds the beginning of the text and can't be changed."""
        while True:
            while self._record.inherited and not self.keeps_inherited:
                ts = self._record.inherited[0]
                try:
                    taken = await self._place.update(ts, text, blocks)
                except SlackRefused:
                    if ts == self.draft and self._drafted is not None:
                        self._leave_draft(ts, *self._drafted)
                        return False
                    await self._delete(ts)
                    del self._record.inherited[0]
                except SlackUnanswered as failure:
                    self._drafted = None if failure.sent else self._drafted
                    raise
                else:
                    self._record.ts.append(self._record.inherited.pop(0))
                    if blocks is not None:
                        self._record.note_footer(taken=taken)
                    return True
            posted = self._said_before(text) or await self._posted(text, blocks)
            if posted is not None:
                self._record.ts.append(posted)
                return True

    async def discard(self) -> None:
        """Delete the inherited messages that are left, unless they stay as they are."""
        while self._record.inherited and not self.keeps_inherited:
            await self._delete(self._record.inherited[0])
            del self._record.inherited[0]

    def _leave_draft(self, ts: str, to: int, opening: str) -> None:
        """Leave the post as it is. The next message begins at `to`."""
        self._record.inherited.remove(ts)
        self._record.ts.append(ts)
        self._answer.shown_to, self._answer.prefix = to, opening
        self.draft, self._drafted = None, None

    def _said_before(self, text: str) -> str | None:
        """The ts of the message that an earlier attempt ended with this text, among those that are kept."""
        said = to_mrkdwn(text).strip()
        kept = self._record.inherited if self.keeps_inherited else []
        return next((ts for ts in reversed(kept) if self._found_there.get(ts, "").strip().endswith(said)), None)

    async def _posted(self, text: str, blocks: Sequence[Block] | None) -> str | None:
        """Post, unless an unanswered post has arrived. None if that one holds other words and must be changed.

        It is then the first of the inherited messages.
        """
        number, held = len(self._record.ts), self._lost_post
        if held is not None and (ts := await self._found(number)) is not None:
            self._lost_post = None
            await self._record.report(ts)
            if held == (text, blocks):
                if blocks is not None:
                    self._record.note_footer(taken=True)
                return ts
            self._record.inherited.insert(0, ts)
            self.keeps_inherited = False
            return None
        try:
            ts, taken = await self._place.post(text, blocks, number=number)
        except SlackUnanswered as failure:
            self._lost_post = (text, blocks) if failure.sent else None
            raise
        self._lost_post = None
        if blocks is not None:
            self._record.note_footer(taken=taken)
        await self._record.report_new(ts)
        return ts

    async def _found(self, number: int) -> str | None:
        for message in await self._record.recent():
            if self._place.number_of(message) == number and message["ts"] not in self._record.inherited:
                return str(message["ts"])
        return None

    async def _delete(self, ts: str) -> None:
        try:
            await self._place.delete(ts)
        except SlackRefused as refusal:
            logger.warning("a left-over stays", extra={"channel": self._place.channel, "slack": refusal.error})
