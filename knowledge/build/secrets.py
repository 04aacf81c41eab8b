"""Secrets that someone has left in a page: keys, tokens and passwords in forms that nothing else has.

The list is short on purpose, since a passage with a secret is not served. Each form has its provider's prefix, or a
name next to it, and enough random letters and digits. Examples and placeholders don't.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LEAST_VARIETY = 8
"""Different characters that a real secret has at least. Placeholders have fewer, or one of the words below."""

_EXAMPLE = re.compile(
    r"example|your|dummy|placeholder|sample|redacted|change.?me|xxx|\*\*\*|\.\.\.|…|<|\$\{|\{\{|insert|12345678|abcdefg"
    r"|(.)\1{5}",
    re.IGNORECASE,
)
_IN_ADDRESS = "password in an address"
_PREFIXED: dict[str, str] = {
    "Slack token": r"xox[abeoprs]-[0-9A-Za-z-]{20,250}|xapp-\d-[0-9A-Za-z-]{20,250}",
    "Slack webhook": r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{20,250}",
    "OpenAI or Anthropic key": r"sk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]{2,8}-)?[A-Za-z0-9_-]{24,250}",
    "Stripe key": r"(?:sk|rk)_live_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/=]{24,250}",
    "Shopify token": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "GitHub token": r"gh[oprsu]_[A-Za-z0-9]{36,250}|github_pat_[A-Za-z0-9_]{50,250}",
    "GitLab token": r"gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,250}",
    "AWS key": r"(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])",
    "Google key": r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}",
    "SendGrid key": r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    "package registry token": r"npm_[A-Za-z0-9]{36}|pypi-AgEI[A-Za-z0-9_-]{50,500}",
    "signed token (JWT)": r"eyJ[A-Za-z0-9_-]{16,2000}\.eyJ[A-Za-z0-9_-]{16,4000}\.[A-Za-z0-9_-]{16,1000}",
    _IN_ADDRESS: r"://[^\s:/@?#]{1,64}:[^\s:/@?#]{6,128}(?=@[A-Za-z0-9\[])",
}
_PREFIXED_FORM = re.compile(
    "|".join(form if kind == _IN_ADDRESS else f"(?<![A-Za-z0-9_-])(?:{form})" for kind, form in _PREFIXED.items())
)
_BEGINNINGS = (
    *("xox", "xapp-", "hooks.slack.com", "sk-", "k_live_", "whsec_", "shpat_", "shpca_", "shppa_", "shpss_"),
    *("gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "gldt-", "glrt-", "glptt-"),
    *("AKIA", "ASIA", "AIza", "GOCSPX-", "SG.", "npm_", "pypi-", "eyJ", "://"),
)
"""Each prefixed secret has one of these. Most pages have none, and need no closer look."""
_NAMES = ("pass", "kennwort", "contraseña", "kata sandi", "key", "secret", "token")
_FORMS = {kind: re.compile(form) for kind, form in _PREFIXED.items()}
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----\s{1,8}"
    r"(?:[A-Za-z-]{1,40}: [^\n]{0,200}\n|\n){0,8}[A-Za-z0-9+/=\s]{40,20000}"
)
_NAMED = re.compile(
    r"(?i:\b(?:pass(?:word|phrase|wort)|kennwort|contraseña|mot de passe|kata sandi|api[ _-]?key|client[ _-]?secret"
    r"|secret[ _-]?(?:access[ _-]?)?key|access[ _-]?token|auth[ _-]?token))[`\"'*]{0,3}[ ]?[:=][ ]?[`\"'*]{0,3}"
    r"([^\s`\"'<>,;|]{8,200})"
)


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is, and its kind. It never contains the secret itself."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> list[Secret]:
    """The secrets in a text, in no order. The time is proportional to the text's length."""
    return [*_private_keys(text), *_prefixed(text), *_named(text)]


def _private_keys(text: str) -> Iterator[Secret]:
    if "PRIVATE KEY" in text:
        for found in _PRIVATE_KEY.finditer(text):
            if not _EXAMPLE.search(found[0]):
                yield Secret("private key", found.start(), found.end())


def _prefixed(text: str) -> Iterator[Secret]:
    if not any(beginning in text for beginning in _BEGINNINGS):
        return
    for found in _PREFIXED_FORM.finditer(text):
        kind = next(kind for kind, form in _FORMS.items() if form.match(text, found.start()))
        # Documentation writes a plain word there, such as "password".
        is_word = kind == _IN_ADDRESS and found[0].rpartition(":")[2].isalpha()
        if not is_word and _is_real(found[0]):
            yield Secret(kind, found.start(), found.end())


def _named(text: str) -> Iterator[Secret]:
    lowered = text.lower()
    if not any(name in lowered for name in _NAMES):
        return
    for found in _NAMED.finditer(text):
        value = found[1].rstrip(".!?)]}")
        kinds = (str.islower, str.isupper, str.isdigit)
        is_mixed = all(any(kind(character) for character in value) for kind in kinds)
        if is_mixed and _is_real(value) and "://" not in value:
            yield Secret("password or key by its name", found.start(1), found.end(1))


def _is_real(value: str) -> bool:
    return len(set(value)) >= LEAST_VARIETY and not _EXAMPLE.search(value)
