"""The entry points for everything from outside. A handler parses, makes one call and answers.

messages   what people write
actions    the buttons of customers
staff      the buttons of staff
dialogs    the dialogs that staff fill in
learning   what staff add to the knowledge base
shortcuts  the entries of a message's menu
commands   /kb
frontdesk  /frontdesk
fixing     the buttons of the list of things to fix
feedback   "Helpful" or not, and the score after a person
bulk       several cases at once
search     the search for cases
home       the app's own tabs
http       signed events over HTTP, health, metrics
"""

from slack_bolt.async_app import AsyncApp

from handlers import (
    actions,
    bulk,
    commands,
    dialogs,
    feedback,
    fixing,
    frontdesk,
    home,
    learning,
    messages,
    search,
    shortcuts,
    staff,
)
from handlers.desk import Desk


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach every handler to `app`. The last two acknowledge everything else, so that Slack gets a 200 for it too."""
    messages.register(app, desk)
    home.register(app, desk)
    actions.register(app, desk)
    staff.register(app, desk)
    dialogs.register(app, desk)
    learning.register(app, desk)
    feedback.register(app, desk)
    bulk.register(app, desk)
    search.register(app, desk)
    shortcuts.register(app, desk)
    commands.register(app, desk)
    frontdesk.register(app, desk)
    fixing.register(app, desk)
    messages.register_rest(app)
    actions.register_rest(app)
