"""What is posted next to an answer: the thread for private content, and the sentence that an answer was stopped."""

from dataclasses import dataclass

from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.language.languages import Language
from bot.language.sentences import Sentences
from bot.slack.api.directory import Directory
from bot.slack.outbox import Outbox
from bot.store import outbox, threads
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.store.outbox import Outgoing


@dataclass(frozen=True, slots=True)
class AnswerPosts:
    """Posts each of these once, however often an answer is attempted."""

    team: str
    database: Database
    directory: Directory
    outbox: Outbox
    clock: Clock
    sentences: Sentences

    async def open_private_thread(self, item: InboxItem, opening: str = "", *, epoch: int | None = None) -> ThreadRef:
        """Open a thread in the customer's direct messages for private content. It begins with `opening`.

        The opening is not posted if the question's thread is no longer in that `epoch`.
        """
        channel = await self.directory.open_dm(item.author)
        of = None if epoch is None else (item.thread.key, epoch)
        post = Outgoing(f"turn/{item.id}/private", "post", channel, {"text": opening}, epoch=of)
        root = await self.outbox.deliver(post)
        return ThreadRef(self.team, channel, root)

    async def say_stopped(
        self, item: InboxItem, language: Language, *, has_written: bool, epoch: int | None = None
    ) -> None:
        """Say that the answer was stopped, unless the thread is no longer in the `epoch`.

        `has_written` says whether something was changed for the customer. Without `epoch`, the present one counts.
        """
        words = {"text": self.sentences.say(language, "stopped_part_done" if has_written else "stopped")}
        thread, key = item.thread, f"turn/{item.id}/stopped"
        async with self.database.transaction() as tx:
            of = (thread.key, await threads.epoch_of(tx, thread.key) if epoch is None else epoch)
            post = Outgoing(key, "post", thread.channel, words, thread_ts=thread.ts, epoch=of)
            await outbox.add(tx, post, now=self.clock.now())
        self.outbox.wake()
