"""The two gates: what comes in is cleaned and masked, what goes out can ping no one and links only to known hosts.

clean        text from outside: nothing invisible, nothing that reorders or breaks, not too long
mask         payment cards, bank accounts and secrets, each replaced by the name of what it is
OutputGate   the model's words: mentions, links and images made harmless, in whatever pieces they come

The output gate does not guess intentions. It reads the text both as Markdown and as Slack's mrkdwn. What is harmless in
both passes, and the rest is rewritten so that neither makes a link or a mention from it.
"""

import re
import unicodedata
from functools import cache
from html.entities import html5

from bot.guard.link_domains import is_ending, is_suffix
from bot.language.languages import read_section
from bot.language.matching import phrases
from knowledge.text import Sieve, visible

# What comes in

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def clean(text: str, *, limit: int) -> str:
    """Text from outside without HTML comments, and without characters that hide, reorder or cannot be encoded.

    The text is cut to `limit` characters, the last one an ellipsis. Joiners stay in emoji, Persian, Hindi and so on.
    """
    readable = _without_comments(visible(text))
    readable = unicodedata.normalize("NFC", readable).strip()
    return readable if len(readable) <= limit else f"{readable[: limit - 1].rstrip()}…"


def _without_comments(text: str) -> str:
    """The text without HTML comments. Only the text before the last end of a comment is searched: an opening without an
    end would be searched to the end of the text, again and again."""
    end = text.rfind("-->") + 3
    return text if end < 3 else _COMMENT.sub(" ", text[:end]) + text[end:]


_CARD = re.compile(r"(?<![\w.-])(?:\d[ -]?){12,18}\d(?![\w-])(?!\.\d)")
_CARD_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|4[4-9]\d|5\d\d|2\d\d)\d{12,15}|35(?:2[89]|[3-8]\d)\d{12}|50\d{14,17}"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})(\d{2})((?:[ ]?[A-Za-z0-9]){11,30})(?![A-Za-z0-9])")
_IBAN_REGISTRY = """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18
    FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21
    LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27
    ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
"""
_IBAN_LENGTHS = {entry[:2]: int(entry[2:]) for entry in _IBAN_REGISTRY.split()}
_SECRETS = re.compile(
    r"\bxox[a-z]-[\w-]{8,}|\bxapp-[\w-]{8,}|\bsk-[\w-]{16,}|\b(?:sk|rk|pk)_(?:live|test)_\w{10,}"
    r"|\bgh[opusr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bAIza[\w-]{30,}|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+|(?i:\bbearer)[ ]+[\w.~+/-]{16,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)


def mask(text: str) -> str:
    """The text with card numbers, bank accounts, keys and named passwords replaced, for example by "[card number]".

    A number is masked only if it proves to be what it looks like (Luhn and issuer, IBAN length and check digits), so
    that order and tracking numbers survive.
    """
    text = _SECRETS.sub("[secret]", text)
    text = _named_secret().sub(r"\1\2[secret]", text)
    text = _CARD.sub(lambda found: "[card number]" if _is_card(found[0]) else found[0], text)
    return _IBAN.sub(_masked_account, text)


@cache
def _named_secret() -> re.Pattern[str]:
    """A password behind its name, such as "password: hunter2"."""
    names = "|".join(name for named in read_section("secrets.names").values() for name in phrases(named))
    between = "|".join(read_section("secrets.is").values())
    return re.compile(rf"(?i:\b({names}))([ ]*(?:[:=]|\b(?i:{between})\b)[ ]*)(?=\S*[^\sA-Za-z.,;])([^\s,;]{{3,}})")


def _is_card(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    if not _CARD_ISSUERS.fullmatch(digits):
        return False
    doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _masked_account(found: re.Match[str]) -> str:
    """The match with its account replaced. Words that follow in the same run stay."""
    length = _IBAN_LENGTHS.get(found[1].upper(), 0)
    places = [place for place, character in enumerate(found[0], 1) if character != " "]
    if not length or len(places) < length:
        return found[0]
    end = places[length - 1]
    rest = found[0][end:]
    account = found[0][:end].replace(" ", "").upper()
    checked = "".join(str(int(character, 36)) for character in account[4:] + account[:4])
    is_account = int(checked) % 97 == 1 and rest[:1] in ("", " ")
    return f"[bank account]{rest}" if is_account else found[0]


# What goes out

_WORD_LIMIT = 2_500
_COMMENT_LIMIT = 4_000
_CODE_LINE_LIMIT = 2_000
_RUN_LIMIT = 100
_REFERRING_LIMIT = 300

_FILE_ENDINGS = frozenset({"md", "mk", "ps", "py", "rs"})
"""Endings of files that are top-level domains as well. Slack's documentation says that addresses without a scheme are
linked if they look like domains, but not which ones. A bare `README.md` is a file in nearly every text, and stays. A
name with a path, with `www.`, in an e-mail address or of three parts is no file. `zip`, `mov` and `sh` are not among
these endings: names of files with them are used for deceit, and a bracket in `photos[.]zip` costs nothing."""
_JOINTS = ("](", "![", "<#", "<@", "<!")
"""What makes a link, an image or a mention. The gate never joins pieces into one of these."""
_SCHEME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-"
_END_OF_URL = ".,;:?'\"*_~"
"""Characters that come after an address and are not part of it."""

# Whole words between spaces that can only be words.
_PROSE = re.compile(r"(?:[A-Za-z0-9'\"*_$%+=,;-]*[.?:]*[ ]+|[^\x00-\x7f]+)+")
_WORD = re.compile(rf"[^\x00-\x20`<>()\[\]!|\x7f-\U0010ffff]{{1,{_WORD_LIMIT}}}")
_ENTITY = re.compile(r"&(#?[A-Za-z0-9]{1,31});")
_ENTITY_SO_FAR = re.compile(r"&#?[A-Za-z0-9]{0,31}$")
_RUN = re.compile(rf"[^\s`<]{{1,{_REFERRING_LIMIT}}}")
_SEPARATOR = re.compile(r"\\?:(?:\\?/){2}")
_DOMAIN = re.compile(
    r"(?<![A-Za-z0-9.-])(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.)+((?i:xn--)[A-Za-z0-9-]{1,59}|[A-Za-z]{2,24})(?![A-Za-z0-9-])"
)
_MAIL = re.compile(r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@((?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{2,63})")
_LABEL = re.compile(r"[\w-]{1,63}")
_SEAM = re.compile(r"(?!(?i:www)\.)[A-Za-z]+\.[A-Z][a-z]+")
_MAILTO = re.compile(r"(?:mailto|tel):", re.IGNORECASE)
_BREAK = re.compile(r"</?br[ ]{0,3}/?>", re.IGNORECASE)
_BREAK_SO_FAR = re.compile(r"</?(?:b(?:r[ ]{0,3}/?)?)?", re.IGNORECASE)
_AT = re.compile(r"(?<![A-Za-z0-9_@])@(here|channel|everyone)(?![A-Za-z0-9_])", re.IGNORECASE)
_ALLOWED = re.compile(r"(?i:https)://([A-Za-z0-9.-]+)((?:[/?#][A-Za-z0-9._~:/?#@$&'*+,;=%-]*)?)")
_EMBEDDED = re.compile(r"//|https?:|%2f%2f|%3a%2f|%5c", re.IGNORECASE)

# After each form comes the pattern of what may still become it if the text ends there.
_MENTION = re.compile(r"<([@#!])([^<>\n`]{1,200})>")
_MENTION_SO_FAR = re.compile(r"<[@#!]?[^<>\n`]{0,200}")
_ANGLE = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{0,30}:[^<>\s`|]{1,2000})(?:\|([^<>\n`]{0,300}))?>")
_ANGLE_SO_FAR = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{0,30}(?::[^<>\s`|]{0,2000}(?:\|[^<>\n`]{0,300})?)?)?")
_LINK = re.compile(
    r"\[([^\[\]\n`]{0,500})\]\([ ]{0,3}(?:<([^<>\s`]{0,2000})>|([^\s()<>\[\]`]{0,2000}))"
    r"(?:[ ]{1,3}\"[^\"\n`]{0,200}\")?[ ]{0,3}\)"
)
_LINK_SO_FAR = re.compile(
    r"\[[^\[\]\n`]{0,500}(?:\](?:\([ ]{0,3}(?:<[^<>\s`]{0,2000}>?|[^\s()<>\[\]`]{0,2000})"
    r"(?:[ ]{1,3}\"[^\"\n`]{0,200}\"?)?[ ]{0,3})?)?"
)
_BACKTICKS = re.compile(rf"`{{1,{_RUN_LIMIT}}}")
_CODE = re.compile(r"`([^`\n|]{1,300})`")
_CODE_SO_FAR = re.compile(r"`[^`\n|]{0,300}`?")
_FENCE = re.compile(r"(`{3,})[^`<\n]{0,100}\n")
_FENCE_SO_FAR = re.compile(r"`{3,}[^`<\n]{0,100}")
_FENCE_END = re.compile(r" {0,3}(`{3,})[ \t]*")

_Step = tuple[int, str] | None
"""Where the token ends, and what is shown in its place. None if the next text decides."""


class OutputGate:
    """Takes the model's words in any pieces and gives out the same safe text whatever the pieces were.

    `<br>` is a line break and a character reference is its character, except in code; the result is read like any other
    words. Mentions are shown with a full-width sign and ping no one. A link stays if it leads by https to a host that
    is exactly one of the allow-list. Other links become text that nothing turns into a link (`evil[.]example/x`), and
    so do domains and e-mail addresses of others. Images become their description. Code keeps its text, except for
    Slack's mentions, which work in code as well.

    What could still become one of these is held back: at most a word, a line of code, or a link's length.
    """

    def __init__(self, link_hosts: frozenset[str]) -> None:
        self._hosts = frozenset(host.lower() for host in link_hosts)
        self._reset()

    def _reset(self) -> None:
        self._sieve = Sieve()
        self._held = ""
        self._previous = ""
        """The last character that was shown."""
        self._line_start = True
        self._line_blank = True
        self._fence = 0
        """The length of the run that opened the current code block. 0 outside of one."""
        self._in_code_line = False
        self._in_long_word = False
        self._decoded = 0
        """The number of held characters, from the first on, that come from character references or precede one."""
        self._after_break = False
        self._in_row = False
        """Whether the line is a row of a table. A line break would end the row."""
        # Two parsers agree on what is code only while no stray backtick or HTML came before. After one did, the rest of
        # the paragraph, or of the text, is treated as prose, which is always safe.
        self._trusts_text = True
        self._trusts_paragraph = True

    def feed(self, delta: str) -> str:
        """The next words that may be shown."""
        return self._take(self._sieve.feed(delta), closing=False)

    def close(self) -> str:
        """What was held back. The gate can take another text afterwards."""
        rest = self._take("", closing=True)
        self._reset()
        return rest

    def _take(self, text: str, *, closing: bool) -> str:
        text = self._held + text
        shown: list[str] = []
        position, decoded = 0, self._decoded
        may_refer = "&" in text
        while position < len(text):
            if may_refer and not self._fence and position >= decoded:
                run = _referring(text, position, closing=closing)
                if run is None:
                    break
                # Read again as the characters that it means. A reference that these characters form is not read as a
                # second one.
                characters = Sieve().feed(_ENTITY.sub(_character, run))
                if characters != run:
                    text, position, decoded = characters + text[position + len(run) :], 0, len(characters)
                    continue
            self._decoded = decoded - position
            read = self._code_line if self._fence else self._token
            step = read(text, position, closing=closing)
            if step is None:
                break
            position, words = step
            self._after_break = words == "\n" and text[position - 1] == ">"
            if words:
                words = f" {words}" if self._previous + words[0] in _JOINTS else words
                shown.append(words)
                self._note(words)
        self._held = text[position:]
        self._decoded = max(0, decoded - position)
        return "".join(shown)

    def _note(self, words: str) -> None:
        self._previous = words[-1]
        self._in_row = not words.endswith("\n") and (self._in_row or (self._line_blank and words.lstrip()[:1] == "|"))
        if words.endswith("\n"):
            self._trusts_paragraph = self._trusts_paragraph or self._line_blank
            self._line_start = self._line_blank = True
        else:
            self._line_start = False
            self._line_blank = self._line_blank and words.isspace()

    def _token(self, text: str, start: int, *, closing: bool) -> _Step:
        if self._after_break and text[start] == "\n":
            return start + 1, ""
        prose = None if self._in_long_word else _PROSE.match(text, start)
        if prose is not None:
            return prose.end(), prose[0]
        character = text[start]
        match character:
            case "\n" | " " | "\t" | "(" | ")" | "]" | ">" | "|":
                self._in_long_word = False
                return start + 1, character
            case "`":
                return self._backticks(text, start, closing=closing)
            case "<":
                return self._angle(text, start, closing=closing)
            case "[" | "!":
                return self._link(text, start, closing=closing)
        if word := _WORD.match(text, start):
            return self._word(text, word, closing=closing)
        self._in_long_word = False
        return start + 1, character

    def _word(self, text: str, found: re.Match[str], *, closing: bool) -> _Step:
        """A run of ASCII that has no bracket, backtick, pipe or exclamation mark."""
        word, end = found[0], found.end()
        is_cut = len(word) == _WORD_LIMIT
        if end == len(text) and not closing and not is_cut:
            return None
        dot = 0 if word[0] == "." else word.rfind(".")
        if dot >= 0 and (dot == 0 or _is_foreign(text[end : end + 1])):
            label = _LABEL.match(text, found.start() + dot + 1)
            if label is not None and label.end() == len(text) and not closing:
                return None
            if dot > 0:
                word, end = word[:dot], found.start() + dot
            elif label is not None and self._joins(label[0]):
                return found.start() + 1, "[.]"
        long = is_cut or self._in_long_word
        self._in_long_word = is_cut
        if self._line_blank and word.startswith("~~~"):
            self._trusts_text = False
        word = _ENTITY.sub(r"&amp;\1;", word)
        if separator := _SEPARATOR.search(word):
            begin = len(word[: separator.start()].rstrip(_SCHEME_CHARACTERS))
            follows = text[end : end + 1]
            before = self._defused(word[:begin])
            return end, before + self._address(word[begin:], before[-1:] or self._previous, follows, long=long)
        return end, self._defused(word)

    def _address(self, word: str, before: str, follows: str, *, long: bool) -> str:
        """A bare address. It is kept if it is allowed, in angle brackets where its ends are not certain."""
        url = word.rstrip(_END_OF_URL)
        if long or not self._allows(url):
            return _AT.sub("＠\\1", _unlinked(word))
        ends_here = not follows or follows in ")]>|<!" or follows.isspace()
        return word if ends_here and not before.isalnum() else f"<{url}>{word[len(url) :]}"

    def _joins(self, label: str) -> bool:
        """Whether a dot before the label makes a domain that is not written in ASCII alone."""
        is_foreign = _is_foreign(self._previous) or not label.isascii()
        return is_foreign and self._previous.isalnum() and not label[0].isupper() and is_ending(label)

    def _defused(self, word: str) -> str:
        if "." in word:
            shown: list[str] = []
            position = 0
            for mail in _MAIL.finditer(word) if "@" in word else ():
                if self._is_ours(mail[1]):
                    shown += _DOMAIN.sub(self._shown_domain, word[position : mail.start()]), mail[0]
                    position = mail.end()
            word = "".join([*shown, _DOMAIN.sub(self._shown_domain, word[position:])])
        return _AT.sub("＠\\1", word) if "@" in word else word

    def _is_ours(self, domain: str) -> bool:
        """Whether mail to the domain is mail to a listed host, or to the domain that the host is part of."""
        name = domain.lower()
        return name in self._hosts or (not is_suffix(name) and any(host.endswith(f".{name}") for host in self._hosts))

    def _shown_domain(self, found: re.Match[str]) -> str:
        """The domain in a form that is no link. Two words without a blank between their sentences get it."""
        name, is_mail = found[0].lower(), found.string[: found.start()].endswith("@")
        has_path = found.string[found.end() : found.end() + 1] in tuple("/?#:") and len(found.string) > found.end() + 1
        links = has_path or name.startswith("www.") or is_ending(found[1])
        if not links or name in self._hosts:
            return found[0]
        if found[1].lower() in _FILE_ENDINGS and name.count(".") == 1 and not (has_path or is_mail):
            return found[0]
        is_seam = not (has_path or is_mail) and _SEAM.fullmatch(found[0]) is not None
        return found[0].replace(".", ". " if is_seam else "[.]")

    def _allows(self, url: str) -> bool:
        found = _ALLOWED.fullmatch(url)
        return found is not None and found[1].lower() in self._hosts and not _EMBEDDED.search(found[2])

    def _link(self, text: str, start: int, *, closing: bool) -> _Step:
        """`[text](address)`, or `![description](address)`."""
        bracket = start + (text[start] == "!")
        if bracket == len(text) and not closing:
            return None
        if not text.startswith("[", bracket):
            return start + 1, "!"
        found = _LINK.match(text, bracket)
        if found is None:
            so_far = _LINK_SO_FAR.match(text, bracket)
            waits = so_far is not None and so_far.end() == len(text) and not closing
            return None if waits else (start + 1, text[start])
        label, url = self._scrubbed(found[1]), _ENTITY.sub(_character, found[2] or found[3] or "")
        if bracket > start:
            return found.end(), f"({label or 'image'})"
        if self._allows(url):
            return found.end(), self._kept(label if found[1] != url else "", url)
        return found.end(), self._named(found[1], label, _MAILTO.sub("", url, count=1))

    def _angle(self, text: str, start: int, *, closing: bool) -> _Step:
        """`<@U1>`, `<!here>`, `<https://…|text>`, `<!-- a comment -->`, or only a less-than sign."""
        if text.startswith("<!--", start):
            end = text.find("-->", start + 4, start + _COMMENT_LIMIT)
            if end >= 0:
                return end + 3, "" if not self._previous or self._previous.isspace() else " "
            if len(text) - start < _COMMENT_LIMIT and not closing:
                return None
            return start + 1, "&lt;"
        is_reference = self._decoded > 0
        if not is_reference and (found := _BREAK.match(text, start)):
            return found.end(), " " if self._in_row else "\n"
        if found := _MENTION.match(text, start):
            return found.end(), self._readable(found[1], found[2])
        if found := _ANGLE.match(text, start):
            url, label = _ENTITY.sub(_character, found[1]), self._scrubbed(found[2] or "")
            if self._allows(url):
                return found.end(), self._kept(label if found[2] != url else "", url)
            return found.end(), self._named(found[2] or "", label, _MAILTO.sub("", url, count=1))
        is_mention = text.startswith(("<@", "<#", "<!"), start)
        forms = (_MENTION_SO_FAR,) if is_mention else (_ANGLE_SO_FAR, _BREAK_SO_FAR)
        if not closing and any((so_far := form.match(text, start)) and so_far.end() == len(text) for form in forms):
            return None
        if is_mention or is_reference:
            return start + 1, "&lt;"
        if self._line_blank and re.match(r"<[A-Za-z/?]", text[start : start + 2]):
            self._trusts_text = False
        return start + 1, "<"

    def _readable(self, kind: str, reference: str) -> str:
        target, _, label = reference.partition("|")
        name, _, detail = target.partition("^")
        label = self._scrubbed(label.removeprefix("@"))
        if kind == "!" and name == "date" and label:
            return label
        return ("#" if kind == "#" else "＠") + (label or self._scrubbed(detail or name))

    def _kept(self, label: str, url: str) -> str:
        """An allowed link."""
        return f"[{label}]({url})" if label.strip() else f"<{url}>"

    def _named(self, raw: str, label: str, url: str) -> str:
        """A link that is not allowed, as text."""
        mail = _MAIL.fullmatch(url)
        shown = url if mail and self._is_ours(mail[1]) else _AT.sub("＠\\1", _unlinked(url))
        if not label.strip() or raw == url:
            return shown
        return f"{label} ({shown})" if shown else label

    def _scrubbed(self, label: str) -> str:
        """A label with only words in it."""
        if not label:
            return ""
        gate = OutputGate(frozenset())
        words = (gate.feed(label) + gate.close()).replace("[", "(").replace("]", ")")
        return words.replace("\n", " ")

    def _backticks(self, text: str, start: int, *, closing: bool) -> _Step:
        end = _BACKTICKS.match(text, start).end()  # type: ignore[union-attr]  # there is one at least
        count = end - start
        if end == len(text) and not closing and count < _RUN_LIMIT:
            return None
        # A longer run comes in parts, and no part opens a block: what follows is read as prose.
        if 3 <= count < _RUN_LIMIT and self._line_start and self._trusts_text:
            if found := _FENCE.match(text, start):
                self._fence = count
                return found.end(), found[0]
            so_far = _FENCE_SO_FAR.match(text, start)
            if so_far is not None and so_far.end() == len(text) and not closing:
                return None
        if count == 1 and self._trusts_text and self._trusts_paragraph and not _is_wordy(self._previous):
            found = _CODE.match(text, start)
            if found is not None and (found.end() < len(text) or closing):
                if not _is_wordy(text[found.end() : found.end() + 1]):
                    return found.end(), _unpinged(found[0])
            elif (so_far := _CODE_SO_FAR.match(text, start)) and so_far.end() == len(text) and not closing:
                return None
        self._trusts_paragraph = False
        self._trusts_text = self._trusts_text and count < 3
        return end, text[start:end]

    def _code_line(self, text: str, start: int, *, closing: bool) -> _Step:
        """The next line in a code block, or a part of a long line."""
        end = text.find("\n", start, start + _CODE_LINE_LIMIT)
        if end < 0 and len(text) - start < _CODE_LINE_LIMIT and not closing:
            return None
        if end < 0:
            cut = min(start + _CODE_LINE_LIMIT, len(text))
            cut -= cut - start > 1 and text[cut - 1] == "<"
            self._in_code_line = True
            return cut, _unpinged(text[start:cut])
        line = text[start:end]
        mark = None if self._in_code_line else _FENCE_END.fullmatch(line)
        self._in_code_line = False
        if mark is not None and len(mark[1]) >= self._fence:
            self._fence = 0
            self._trusts_paragraph = True
        return end + 1, _unpinged(line) + "\n"


def _referring(text: str, start: int, *, closing: bool) -> str | None:
    """The run up to the next blank, if it has character references; otherwise "". None if more of it may come."""
    found = _RUN.match(text, start)
    run = found[0] if found else ""
    is_open = len(run) < _REFERRING_LIMIT and start + len(run) == len(text) and not closing
    if not _ENTITY.search(run):
        return None if is_open and _ENTITY_SO_FAR.search(run) else ""
    return None if is_open else run


def _character(found: re.Match[str]) -> str:
    """The character that a reference means. A reference that means nothing stays as it is written."""
    name = found[1]
    if not name.startswith("#"):
        return html5.get(f"{name};", found[0]).replace("\u00a0", " ")
    is_hex = name[1:2] in ("x", "X")
    try:
        return chr(int(name[2:] if is_hex else name[1:], 16 if is_hex else 10)).replace("\u00a0", " ")
    except (ValueError, OverflowError):
        return found[0]


def _is_foreign(character: str) -> bool:
    """Whether it is a letter or a digit outside ASCII."""
    return character.isalnum() and not character.isascii()


def _unlinked(url: str) -> str:
    """An address that is still readable, and that nothing turns into a link."""
    rest = re.sub(r"^https?\\?:(?:\\?/){2}", "", url, flags=re.IGNORECASE)
    return re.sub(r"\.(?=[A-Za-z0-9])", "[.]", _SEPARATOR.sub("[:]//", rest or url))


def _unpinged(code: str) -> str:
    """Code in which Slack finds no mention."""
    return re.sub(r"<(?=[@#!])", "＜", code)


def _is_wordy(character: str) -> bool:
    return bool(character) and (character.isalnum() or character in "_`\\")
