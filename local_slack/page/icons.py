"""Line icons of the page, as inline SVG of 20 units that takes the colour of the text around it."""

from functools import lru_cache

from local_slack.page.html import Html, element

_PATHS = {
    "bell": "M10 3.2v1.3M4 13.5a6 6 0 0 1 12 0zM2.8 16h14.4",
    "shop": "M3.5 8 5 3.5h10L16.5 8M3.5 8a2.2 2.2 0 0 0 4.3 0 2.2 2.2 0 0 0 4.4 0 2.2 2.2 0 0 0 4.3 0M4.8 10.2v6.3h10.4"
    "v-6.3M8.2 16.5v-3.6h3.6v3.6",
    "hash": "M7.6 3.5 6.2 16.5M13.8 3.5l-1.4 13M3.8 7.5h13M3.2 12.5h13",
    "lock": "M5 9h10v7.5H5zM7 9V6.5a3 3 0 0 1 6 0V9",
    "home": "M3.5 9.5 10 4l6.5 5.5M5.2 8.6V16h9.6V8.6M8.4 16v-4h3.2v4",
    "chat": "M3.5 4.5h13v9H9l-3.5 3v-3h-2z",
    "thread": "M3.5 4.5h13v9H9l-3.5 3v-3h-2zM6.8 7.8h6.4M6.8 10.4h4",
    "eye": "M2.5 10S5.2 5 10 5s7.5 5 7.5 5-2.7 5-7.5 5-7.5-5-7.5-5zM10 12.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z",
    "close": "m5.5 5.5 9 9M14.5 5.5l-9 9",
    "back": "M11.5 4.5 6 10l5.5 5.5",
    "next": "M8.5 4.5 14 10l-5.5 5.5",
    "down": "M5.5 8 10 12.5 14.5 8",
    "send": "M3.5 16.5 17 10 3.5 3.5l1.8 6.5zM5.3 10H11",
    "smile": "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM7.3 11.5c1 2.2 4.4 2.2 5.4 0M7.6 8v.2M12.4 8v.2",
    "pencil": "m4 16 .8-3.4L13 4.4l2.6 2.6-8.2 8.2zM11.4 6l2.6 2.6",
    "trash": "M4 6h12M8 6V4h4v2M5.5 6l.7 10.5h7.6L14.5 6M8.5 9v5M11.5 9v5",
    "more": "M5 10h.1M10 10h.1M15 10h.1",
    "up_thumb": "M6.5 9v7.5H4V9z"
    "M6.5 9l3-5.5c1.4 0 2 1 1.7 2.2L10.6 8h4.2c1 0 1.6.9 1.4 1.8l-1.2 5.4c-.2.8-.8 1.3-1.6 1.3H6.5",
    "down_thumb": "M6.5 11V3.5H4V11z"
    "M6.5 11l3 5.5c1.4 0 2-1 1.7-2.2L10.6 12h4.2c1 0 1.6-.9 1.4-1.8L15 4.8c-.2-.8-.8-1.3-1.6-1.3H6.5",
    "check": "m4.5 10.5 3.5 3.5 7.5-8",
    "cross": "m6 6 8 8M14 6l-8 8",
    "spinner": "M10 3.2a6.8 6.8 0 1 0 6.8 6.8",
    "ring": "M10 15.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11z",
    "stop": "M5.5 5.5h9v9h-9z",
    "play": "M6.5 4.5v11l9-5.5z",
    "search": "M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4",
    "plus": "M10 4v12M4 10h12",
    "clip": "m15.5 9-5.8 5.8a3.2 3.2 0 0 1-4.5-4.5l6.2-6.2a2.1 2.1 0 0 1 3 3l-6.1 6.1a1 1 0 0 1-1.5-1.5L12.3 6.5",
    "compass": "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM12.8 7.2l-1.6 4-4 1.6 1.6-4z",
    "bolt": "M11 2.8 4.5 11.5h5L8.8 17.2l6.7-8.7h-5z",
    "power": "M10 3v6.5M6 5.5a6 6 0 1 0 8 0",
    "restart": "M15.8 8.2A6.2 6.2 0 1 0 16 11.8M16 4.2v4h-4",
    "pulse": "M2.5 10.5h3.2l2-5.5 3.6 10 2.2-6 1.2 1.5h2.8",
    "sun": "M10 13.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM10 2.5V4M10 16v1.5M2.5 10H4M16 10h1.5M4.7 4.7l1 1"
    "M14.3 14.3l1 1M15.3 4.7l-1 1M5.7 14.3l-1 1",
    "moon": "M16 11.6A6.6 6.6 0 0 1 8.4 4a6.6 6.6 0 1 0 7.6 7.6z",
    "file": "M5.5 3h6l3 3v11h-9zM11.5 3v3h3",
    "image": "M3.5 4.5h13v11h-13zM3.5 13l3.5-3.5 3 3 2.5-2.5 4 4M12.8 7.6h.1",
    "link": "M8.5 11.5a3 3 0 0 0 4.2 0l2.6-2.6a3 3 0 0 0-4.2-4.2l-.9.9"
    "M11.5 8.5a3 3 0 0 0-4.2 0l-2.6 2.6a3 3 0 0 0 4.2 4.2l.9-.9",
    "info": "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 9.2v4.3M10 6.5v.1",
    "warning": "M10 3.5 17.5 16.5h-15zM10 8.5v3.7M10 14.3v.1",
    "puzzle": "M4 7h3.2a1.8 1.8 0 1 1 3.6 0H14v3.2a1.8 1.8 0 1 1 0 3.6V16H4z",
    "menu": "M3.5 6h13M3.5 10h13M3.5 14h13",
    "person": "M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 16.5c.6-3.3 3-4.8 6-4.8s5.4 1.5 6 4.8",
    "both": "M3.5 4.5h13v11h-13zM10 4.5v11",
    "list": "M4 6h.1M4 10h.1M4 14h.1M7.5 6H16M7.5 10H16M7.5 14H16",
}  # fmt: skip


@lru_cache(maxsize=256)
def icon(name: str) -> Html:
    """The icon, or a puzzle piece for a name that is not drawn here. Decoration: it has no accessible name."""
    path = element("path", {"d": _PATHS.get(name, _PATHS["puzzle"])})
    return element("svg", {"class": f"icon icon-{name}", "viewBox": "0 0 20 20", "aria-hidden": "true"}, path)
