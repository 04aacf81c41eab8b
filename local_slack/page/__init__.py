"""The page: two people of the local workspace side by side, in one browser window.

`routes` serves it. The server draws everything; the browser gets patches over one websocket and sends what the
person does. From the socket to the letter: `visit` > `document` > `screen` > `conversation` > `message` > `stream`
> `render` > `tasks`, `tables`, `charts` > `markup` > `html`; beside them `tour` > `guide` and `faults_panel`, the
panels around the halves. Opened as
`/?secret=…&left=U0CUSTOMERA:D0CUSTOMERA&right=U0AGENTA:C0AGENTS` (a third part after a colon opens a thread).

What tests may rely on:

    [data-half=left|right]                  one half; data-user, data-tab=messages|home, data-thread=open|closed
      .place[data-channel="C…"]             an entry of its sidebar; data-unread; aria-current on the shown one
      .seek, .search-box input, .hit        the search of this half, and what it found
      select[data-choose=act_as]            the act-as switch, by user id
      .channel .message[data-ts="…"]        a message of the channel: .author, .said, .edited, .reaction
      .thread .message[data-ts="…"]         the same in the open thread; [aria-busy=true] while it is streamed
        .caret                              at the end of a text that is still being written
        .task[data-status][data-task]       a task card: pending, in_progress, complete or error
        [data-action-id][data-value]        a button or another element as the app named it
        .button[data-action-id], .feedback[aria-pressed], select[data-action-id], .menu > summary (overflow)
        [aria-busy=true], [data-failed]     a button until the app acknowledged the press, and where it did not
        .data-table .sort, [data-turn]      sort a data table by a column, turn its pages
        .thread-footer                      opens the thread; data-unread
      .message.ephemeral                    "Only visible to you"
      .status-row, .status-text, .stop      what the app is doing in the open thread, and the Stop button
      .prompt                               a suggested prompt
      .channel .composer textarea           writes to the channel; Enter sends, Shift+Enter breaks the line
      .thread .composer textarea            replies in the open thread
      .composer .adding                     the menu of files and global shortcuts, where the app offers some
      .completions [role=option]            completion of @, # and /
      [role=tab]                            Home and Messages of the app's direct message
      .home[data-view-id]                   the app's Home tab
      .modal[data-view-id]                  the topmost modal; .input-error under a refused input
    .skip[data-skip=left|right]             links past everything else to the conversation of a half
    [data-rove=row|column]                  a toolbar or list that is one stop of the Tab key; arrow keys move in it
    #page[data-bot=online|offline]          whether the app is connected; #presence says it in words
    .bar [data-panel=tour|faults]           opens and closes a panel, where the page was given one
    #tour .journey[data-name]               plays a journey; data-state=waiting|playing|played
    #tour .plays [data-name]                plays a playlist
    #tour-told                              what the journey tells
    #faults form[data-fault]                arms calls, deliveries or sockets; #faults-armed li, #faults-followed li
    #faults [data-world=kill|restart|stop]  what happens to the app's process, present where `/_world/…` is served
    #toasts .toast                          what could not be done
    #inspector .entry[data-kind][data-ok]   the log, once opened with [data-do=inspect]
"""

from local_slack.page.visit import routes

__all__ = ["routes"]
