"""The exception tree.

FrontdeskError
├── ConfigurationError   what an operator must fix before the program can run
├── StoreUnavailable     the database cannot be written: nothing is acknowledged
├── Unstorable           the database does not accept the value: trying again changes nothing
├── CannotCopy           a backup, a restore or a move is not possible (bot/store/copying.py)
├── StoppedEarly         the process was asked to end before it was ready
├── Superseded           a later attempt works on the row: this attempt ends without a word
├── Silenced             a person has taken the thread: the assistant's words are not posted
├── Unreachable          Slack takes nothing more for this conversation: no one can be answered there
├── SlackRefused         Slack answered "no" (bot/slack/api/errors.py)
├── SlackUnanswered      Slack may or may not have done it (bot/slack/api/errors.py)
├── NotSent              no byte of a request that changes something left (bot/shops/rest_client.py)
├── Unanswered           the shop may or may not have acted (bot/shops/rest_client.py)
└── ShopUnavailable      the shop gave no usable answer (bot/shops/port.py)
    ├── ShopRefuses      the shop does not take our token (bot/shops/port.py)
    ├── Throttled        the shop asks to wait (bot/shops/actions.py)
    └── NotSupported     the shop cannot do this (bot/shops/actions.py)

Each audience learns of errors in its own way: the model from a ToolResult, the customer from a fixed sentence and a
case, the operator from a log line with ids. Exception text never reaches a customer.
"""

from collections.abc import Sequence


class FrontdeskError(Exception):
    """The root of everything that Frontdesk raises on purpose."""

    @property
    def error_type(self) -> str:
        """What happened, in one stable word without anybody's data. Traces show it."""
        return type(self).__name__


class ConfigurationError(FrontdeskError):
    """Settings or surroundings are wrong. `faults` holds one sentence for each fault, and never shows a value."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


class StoppedEarly(FrontdeskError):
    """The process was asked to end while its start waited for another system."""


class Superseded(FrontdeskError):
    """A later attempt at the row has begun, here or in another process. What an older attempt writes is refused."""


class Silenced(FrontdeskError):
    """The thread's ownership has changed since the assistant decided to post in it."""


class Unreachable(FrontdeskError):
    """The conversation is gone, for example because the channel is archived. `error` is Slack's error code."""

    def __init__(self, error: str) -> None:
        self.error = error
        super().__init__(error)


class Unstorable(FrontdeskError):
    """The database cannot hold the value, and never will: it does not know a character or a number in it."""


class StoreUnavailable(FrontdeskError):
    """The database could not be written: it is locked, full or read-only. The sender must try again."""
