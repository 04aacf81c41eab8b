"""The faults menu: what can go wrong between Slack and the app in words, what is armed, and what followed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from local_slack.faults import NEW_SOCKET_FAULTS, Faults
from local_slack.page.html import Html, element, join
from local_slack.page.icons import icon
from local_slack.page.loose import Json, mapping, string
from local_slack.page.markup import Names, local_time
from local_slack.workspace import Workspace

CALLS = {
    "429": "are told to slow down (429)",
    "500": "get an internal error (500)",
    "503": "get “unavailable” (503)",
    "fatal_error": "are refused with fatal_error",
    "html": "get a web page for an answer",
    "slow": "are answered after 5 seconds",
    "drop": "are cut off, and nothing is done",
    "lost": "are done, but no answer arrives",
    "lost-500": "are done, but answered with an error",
    "late": "are done, and answered 5 seconds later",
}
DELIVERIES = {
    "drop": "are lost on the way",
    "duplicate": "arrive twice",
    "forget": "arrive, but the line breaks before they are acknowledged",
    "hasty": "are given up after a tenth of the time, and sent again",
    "hold": "arrive behind the one that follows",
    "reorder": "arrive in reversed order",
}
SOCKETS = {
    "close": "ends in good order",
    "cut": "ends without a word",
    "silent": "stays open, and nothing comes any more",
    "huge": "carries five megabytes at once",
    "warning": "is about to be closed by Slack",
    "refresh_requested": "has to be opened anew",
    "link_disabled": "is switched off",
    "too_many_websockets": "is one too many",
    "mute": "is not greeted, the next time",
    "crowded": "is sent away as soon as it is there, the next time",
    "refuse": "is not taken, the next time",
}
BREAK_OFF = "break off, as after five minutes"
METHODS = (
    "chat.postMessage",
    "chat.startStream",
    "chat.appendStream",
    "chat.stopStream",
    "chat.update",
    "assistant.threads.setStatus",
    "users.info",
    "views.open",
)
COUNTS = ("1", "3", "10")
SECONDS = {"429": 2, "slow": 5, "late": 5}
ENTRIES_READ = 300
LINES_SHOWN = 12

_CONTROLS = {
    "kill": ("power", "ends as in a power cut"),
    "stop": ("stop", "ends in good order"),
    "restart": ("restart", "ends in good order, if it runs, and begins anew"),
}
_OF_ONE = {"are": "is", "arrive": "arrives", "get": "gets"}
_ASKED = {"kill": "is killed", "stop": "is stopped", "start": "is started", "restart": "is restarted"}


@dataclass(frozen=True, slots=True)
class Breaking:
    """How the page breaks things."""

    faults: Faults
    """Those that are still to come."""
    arm: Callable[[Json], None]
    """Takes what `POST /_local/fault` takes."""
    behind: tuple[str, ...] = ()
    """What can befall what stands behind the app, in words."""


def chosen(given: Mapping[str, object]) -> Json:
    """One of the panel's sentences as a fault. Raises KeyError for what none of them says."""
    if "stream" in given:
        return {"stream": "*", "said": BREAK_OFF}
    if "behind" in given:
        return {"behind": string(given["behind"])}
    if "do" in given:
        do = string(given["do"])
        fault = {"method": string(given.get("method")) or "*", "do": do, "seconds": SECONDS.get(do, 1)}
        return fault | {"count": _count(given), "said": CALLS[do]}
    if "deliveries" in given:
        name = string(given["deliveries"])
        return {"deliveries": name, "count": _count(given), "said": DELIVERIES[name]}
    name = string(given["sockets"])
    return {"sockets": name, "said": SOCKETS[name]}


def draw(workspace: Workspace, faults: Faults) -> dict[str, Html]:
    """The parts of the panel that change, by element id."""
    armed = [element("li", None, each) for each in _armed(faults)]
    nothing = element("li", {"class": "muted"}, "Nothing: everything works.")
    clear = {"type": "button", "class": "text-button", "data-do": "fault_clear"}
    lines = [_line(each, workspace) for each in _followed(workspace)][-LINES_SHOWN:]
    quiet = element("li", {"class": "muted"}, "Nothing yet. Break something, then write to the app.")
    return {
        "faults-armed": join(
            [*armed, element("li", None, element("button", clear, "Disarm all"))] if armed else [nothing]
        ),
        "faults-followed": join(reversed(lines)) if lines else quiet,
    }


def panel(app: str, controls: tuple[str, ...], behind: Iterable[str] = ()) -> Html:
    """The panel, its changing parts still empty.

    `controls`: what can be done to the app's process. `behind`: what can befall what stands behind the app.
    """
    close = {"type": "button", "class": "tool", "data-panel": "faults", "aria-label": "Close the faults"}
    head = element(
        "header",
        None,
        icon("bolt"),
        element("h2", None, "Faults"),
        element("span", {"class": "muted"}, f"what can happen between Slack and {app}, and what {app} makes of it"),
        element("button", close, icon("close")),
    )
    sentences = [
        _sentence("calls", "The next", _pick("count", COUNTS), "calls of", _methods(), _pick("do", CALLS)),
        _sentence("deliveries", "The next", _pick("count", COUNTS), "deliveries", _pick("deliveries", DELIVERIES)),
        _sentence("sockets", "The connection", _pick("sockets", SOCKETS)),
        _sentence(
            "streams",
            element("input", {"type": "hidden", "name": "stream", "value": "*"}),
            f"The answers that are being written {BREAK_OFF}",
        ),
    ]
    sentences += [
        _sentence("behind", element("input", {"type": "hidden", "name": "behind", "value": each}), each)
        for each in behind
    ]
    process = [_control(each, app) for each in controls]
    if process:
        sentences.append(element("div", {"class": "sentence"}, element("span", None, f"{app}’s process:"), process))
    return element(
        "aside",
        {"id": "faults", "class": "faults", "aria-label": "Faults", "hidden": True},
        head,
        element(
            "div",
            {"class": "faults-body"},
            element("div", {"class": "sentences"}, sentences),
            _listed("faults-armed", "Armed now"),
            _listed("faults-followed", "What followed"),
        ),
    )


def _count(given: Mapping[str, object]) -> int:
    count = string(given.get("count")) or "1"
    return int(count) if count in COUNTS else 1


def _sentence(kind: str, *words: str) -> Html:
    spoken = [each if isinstance(each, Html) else element("span", None, each) for each in words]
    arm = element("button", {"class": "button", "aria-label": f"Arm this for {kind}"}, "Arm")
    return element("form", {"class": "sentence", "data-form": "fault", "data-fault": kind}, spoken, arm)


def _pick(name: str, choices: Iterable[str] | Mapping[str, str]) -> Html:
    words = choices if isinstance(choices, Mapping) else {each: each for each in choices}
    label = {"count": "How many", "do": "What happens to the calls"}.get(name, f"What happens to the {name}")
    options = [element("option", {"value": value}, shown) for value, shown in words.items()]
    return element("select", {"name": name, "class": "select", "aria-label": label}, options)


def _methods() -> Html:
    options = [element("option", {"value": each}, each) for each in METHODS]
    anything = element("option", {"value": "*"}, "any method")
    return element("select", {"name": "method", "class": "select", "aria-label": "Method"}, anything, options)


def _control(what: str, app: str) -> Html:
    drawn, about = _CONTROLS[what]
    attributes = {"type": "button", "class": "button", "data-world": what, "title": f"{app} {about}"}
    return element("button", attributes, icon(drawn), f"{what.title()} the bot")


def _listed(id_: str, title: str) -> Html:
    head = element("h3", {"id": f"{id_}-title"}, title)
    listed = element("ul", {"id": id_, "aria-labelledby": f"{id_}-title", "tabindex": "0", "role": "list"})
    return element("section", None, head, listed)


def _armed(faults: Faults) -> Iterator[str]:
    for rule in faults.calls:
        words = CALLS.get(rule.do) or f"are refused with {rule.do}"
        where = f" in {rule.channel}" if rule.channel else ""
        calls = f"{_many(rule.count, 'call', 'calls')} of {_method(rule.method)}{where}"
        yield f"The next {calls} {_agreeing(words, rule.count)}."
    for name, count in faults.deliveries.items():
        if count > 0:
            yield f"The next {_many(count, 'delivery', 'deliveries')} {_agreeing(DELIVERIES[name], count)}."
    for name, count in faults.sockets.items():
        if count > 0:
            yield f"The connection {SOCKETS.get(name, name)}{f' ({count} times)' if count > 1 else ''}."


def _method(name: str) -> str:
    return "any method" if name == "*" else name


def _many(count: int, one: str, several: str) -> str:
    return one if count == 1 else f"{count} {several}"


def _agreeing(words: str, count: int) -> str:
    """What the panel says of several, for `count`: "are lost" becomes "is lost"."""
    verb, _, rest = words.partition(" ")
    return f"{_OF_ONE[verb.rstrip(',')]}{',' * verb.endswith(',')} {rest}" if count == 1 else words


@dataclass(slots=True)
class _Line:
    time: float
    tone: str
    """act, bad or good."""
    words: str
    count: int = 1


def _followed(workspace: Workspace) -> list[_Line]:
    """What was broken, what failed and what came right again, oldest first; the same thing again is counted."""
    lines: list[_Line] = []
    failing: set[str] = set()
    for entry in list(workspace.log)[-ENTRIES_READ:]:
        told = _told(entry, failing, workspace.app.name)
        if told is None:
            continue
        tone, words = told
        if lines and lines[-1].words == words:
            lines[-1].count += 1
        else:
            lines.append(_Line(entry["time"], tone, words))
    return lines


def _told(entry: Json, failing: set[str], app: str) -> tuple[str, str] | None:
    """One line of the log in words; None for what went as it should. `failing`: the methods that failed last."""
    kind, name, detail = entry["kind"], entry["name"], mapping(entry["detail"])
    match kind:
        case "act" if name == "fault":
            return "act", _said(detail)
        case "act" if name in _ASKED:
            return "act", f"{app} {_ASKED[name]}."
        case "call" if not entry["ok"]:
            failing.add(name)
            error = string(detail.get("fault")) or string(mapping(detail.get("answer")).get("error"))
            return "bad", f"{name} failed: {error}"
        case "call" if name in failing:
            failing.discard(name)
            return "good", f"{name} succeeded."
        case "delivery" if name == "sockets":
            is_open = bool(detail.get("open"))
            return ("good", f"{app} is connected.") if is_open else ("bad", f"{app} is not connected.")
        case "delivery" if fault := string(detail.get("fault")):
            return "bad", f"{name}: deliveries {DELIVERIES.get(fault, fault)}."
        case "retry":
            return "good", f"{name} was delivered again."
        case "error":
            return "bad", f"{name} was given up."
    return None


def _said(fault: Json) -> str:
    if fault.get("clear"):
        return "Everything disarmed."
    said = string(fault.get("said")) or string(fault.get("do") or fault.get("deliveries") or fault.get("sockets"))
    if "sockets" in fault:
        return f"{'Armed' if fault['sockets'] in NEW_SOCKET_FAULTS else 'Now'}: the connection {said}."
    if "behind" in fault:
        return f"Armed: {string(fault['behind'])}."
    if "stream" in fault:
        return f"Now: the answers that are being written {said}."
    count = fault.get("count", 1)
    if "deliveries" in fault:
        return f"Armed: {count} × deliveries {said}."
    return f"Armed: {count} × {_method(string(fault.get('method')))}, calls {said}."


def _line(line: _Line, workspace: Workspace) -> Html:
    moment = local_time(line.time, Names({}, {}, viewer="", now=workspace.clock.time()))
    count = element("span", {"class": "muted"}, f" × {line.count}") if line.count > 1 else None
    return element(
        "li",
        {"data-tone": line.tone},
        element("time", None, f"{moment:%H:%M:%S}" if moment else ""),
        element("span", None, line.words, count),
    )
