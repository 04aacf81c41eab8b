"""Named crash points: the tests kill the process there.

Nothing happens here unless `arm` was called, and the product never calls it. tests/chaos/victim.py does: it kills
Frontdesk at each failpoint, and checks that every customer gets exactly one answer.

FAILPOINTS   every failpoint, with what is already done there and not yet recorded
arm          end this process when it passes a failpoint for the n-th time
failpoint    the line in the code
"""

import os
import signal
from collections.abc import Mapping

FAILPOINTS: Mapping[str, str] = {
    "migrating": "the schema's steps are made and not committed",
    "after_insert": "an event is on disk; nobody has been told",
    "before_ack": "the event's handler knows that it is on disk; Slack has not heard so",
    "resuming": "unfinished rows of an earlier process are known; none is queued",
    "turn_begun": "an attempt is counted; nothing of it is done",
    "round_done": "a model has replied; the reply is not in the journal",
    "round_kept": "the reply is in the journal; nothing has come of it",
    "call_done": "a tool has run, its effect stands; its result is not in the journal",
    "call_kept": "the result of what cannot be repeated is in the journal; the model has not seen it",
    "stream_opened": "Slack shows a streamed message; its ts is not in the journal",
    "stream_noted": "the ts is in the journal",
    "stream_grown": "words were added to the message",
    "stream_ending": "the last call of a streamed message is about to be made",
    "stream_ended": "the message is complete; what is left over from before is still there",
    "answer_shown": "the customer can read all of the answer; the turn is not kept",
    "turn_closing": "inside a transaction the turn is kept, its journal gone, and the inbox's row closed",
    "turn_kept": "the turn is kept, its journal is gone; the inbox's row is open",
    "row_closed": "the inbox's row is closed",
    "case_added": "a case is there inside a transaction; what is to be said of it is not",
    "case_opened": "a case and what is to be said of it are on disk; nothing has been said",
    "case_changed": "a case's step is made inside a transaction; what is to be said of it is not",
    "case_stepped": "a case's step and what is to be said of it are on disk; nothing has been said",
    "case_reopened": "a case waits again since its customer wrote; who had it has not been shown the words",
    "action_stored": "what a customer will be asked is on disk; they have not been asked",
    "action_confirmed": "a yes is on disk, with what is to be said of it; nothing has been sent",
    "vote_stored": "a vote of staff is on disk; nothing has followed from it",
    "action_marked": "an action's request is marked as leaving; it has not left",
    "action_answered": "the shop has answered an action's request; its answer is not on disk",
    "action_kept": "the shop's answer and what is to be said of it are on disk; nothing has been said",
    "procedure_handed_over": "a procedure has called a person; it has not ended",
    "procedure_moved": "a procedure's next step is on disk; nothing has come of it",
    "fix_list_begun": "a list of things to fix is to be posted; it is not",
    "queue_begun": "a queue message is to be posted, and the old one deleted; neither is done",
    "queue_shown": "a queue message shows the cases; nobody has noted that",
    "post_marked": "a post is marked as on its way; it has not left",
    "post_sent": "Slack has the post, a case's card for one; nobody has noted that",
    "post_kept": "it is noted that Slack has the post",
    "messages_taken_out": "of somebody who is erased some messages are, among others' words; the rest is there",
    "messages_erased": "some of what somebody wrote who is erased is gone, with its answers; the rest is there",
    "case_erased": "one case of somebody who is erased is empty; others may be there",
    "person_erased": "nothing is kept of the person; Slack has not been told, and the press is open",
    "day_swept": "what was kept long enough of one day is gone, and that is noted; older days may follow",
    "backup_copied": "a backup's database is beside its place; nothing describes it",
    "backup_described": "a backup is whole, beside its place",
    "restore_copied": "a backup's file is copied and checked, beside its place",
    "table_copied": "one table of a database is copied to another; it is not committed",
    "rows_copied": "all tables are copied; into Postgres, that is not committed, and a file is beside its place",
    "files_sent": "copies of a message's files are with Slack; nobody has noted which",
    "files_noted": "the copies are noted; they are not shared",
    "files_shared": "the copies are shared; nobody has noted that",
    "titles_taken": "cases are taken to be named by a model; no title is stored",
}
"""Name -> what is done there and what is not. `make chaos` kills at each one, tests/chaos/test_kills.py at some."""

_armed: dict[str, tuple[int, signal.Signals]] = {}
"""Name -> the number of the passing that triggers it, and the signal. Only the test harness fills this."""


def arm(name: str, passing: int, *, how: signal.Signals = signal.SIGKILL) -> None:
    """Send this process a signal when it passes the failpoint for the n-th time, counted from 1. SIGSTOP freezes it.

    Raises:
        KeyError: no failpoint has this name.
    """
    FAILPOINTS[name]
    _armed[name] = (passing, how)


def failpoint(name: str) -> None:
    """Do nothing, unless this failpoint is armed."""
    if name not in _armed:
        return
    left, how = _armed[name]
    if left > 1:
        _armed[name] = (left - 1, how)
        return
    del _armed[name]
    os.kill(os.getpid(), how)
