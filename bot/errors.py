"""The exception tree.

FrontdeskError
├── ConfigurationError   what an operator must mend before the program can run
├── StoreUnavailable     the database cannot be written: nothing is acknowledged
├── Unstorable           the database does not take what it was given: trying again changes nothing
├── StoppedEarly         the process was asked to end before it was ready
├── Superseded           somebody else works on the row by now: this attempt ends, and nobody is told
├── Silenced             a person has the thread by now: what the assistant was about to say is not said
├── Unreachable          Slack takes nothing for this conversation any more: nobody can be answered there
├── SlackRefused         Slack answered "no" (bot/slack/client.py)
├── SlackUnanswered      Slack may or may not have done it (bot/slack/client.py)
└── ShopUnavailable      the shop gave no usable answer (bot/shops/port.py)
    └── ShopRefuses      the shop does not take our token (bot/shops/port.py)

Errors are told by audience: the model reads a ToolResult, the customer a fixed sentence and a case, the
operator a log line with ids. Exception text never reaches a customer.
"""

from collections.abc import Sequence


class FrontdeskError(Exception):
    """The root of everything Frontdesk raises on purpose."""


class ConfigurationError(FrontdeskError):
    """Settings or surroundings are wrong; `faults` holds one sentence for each, values never shown."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


class StoppedEarly(FrontdeskError):
    """The process was asked to end while its start waited for something outside."""


class Superseded(FrontdeskError):
    """A later attempt at the row has begun, here or in another process; what an older one writes is refused."""


class Silenced(FrontdeskError):
    """The thread has changed hands since the assistant decided to speak in it."""


class Unreachable(FrontdeskError):
    """The conversation is gone, as an archived channel is; `error` is Slack's word."""

    def __init__(self, error: str) -> None:
        self.error = error
        super().__init__(error)


class Unstorable(FrontdeskError):
    """The database cannot hold what it was given, and never will: a character or a number that it does not know."""


class StoreUnavailable(FrontdeskError):
    """The database could not be written (locked, full, read-only). The sender must try again."""
