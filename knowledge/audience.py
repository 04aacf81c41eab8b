"""Who may read a source: every customer, or staff alone."""

from typing import Literal

Audience = Literal["public", "internal"]
