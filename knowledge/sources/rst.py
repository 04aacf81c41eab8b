"""reStructuredText, as Docutils reads it, and with what Sphinx adds to it.

A page is parsed on its own, without the project around it. So references to other pages become their words, and
directives that nobody but Sphinx knows are read as what they contain. Nothing is included, and raw HTML is left out.
"""

import io
import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.statemachine import StringList

from knowledge.documents import Document
from knowledge.sources.files import Unfit
from knowledge.sources.html import read_html

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": io.StringIO(),
    "input_encoding": "unicode",
    "output_encoding": "unicode",
    "embed_stylesheet": False,
    "stylesheet_path": None,
    "syntax_highlight": "none",
    "doctitle_xform": True,
    "initial_header_level": 2,
    "line_length_limit": 100_000,
    "math_output": "LaTeX",
}
_NOT_SHOWN_NAMES = """
    contents csv-table currentmodule default-role figure-md hidden highlight image include index literalinclude
    meta module myst-nb raw role sectionauthor sectnum seqdiag tabularcolumns target-notes toctree todo youtube
    autoclass autofunction automodule autosummary graphviz inheritance-diagram plantuml mermaid
"""
_NOT_SHOWN = frozenset(_NOT_SHOWN_NAMES.split())
"""Directives without text of the page. Images are among them: docutils would keep their file names."""
_CODE_NAMES = """
    code code-block console parsed-literal prompt sourcecode testcode testoutput
"""
_CODE = frozenset(_CODE_NAMES.split())
_TITLED = re.compile(r"[^\W\d_].* |[^\W\d_]+$")
_OPTION = re.compile(r":[\w-]+:")
_TARGET = re.compile(r"\s*<[^<>]*>\s*$")


class _Content(Directive):
    """A directive that is not known: its argument is a title, its content is text."""

    has_content = True
    optional_arguments: ClassVar[int] = 1
    final_argument_whitespace: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        holder = nodes.container()
        holder.document = self.state.document
        found: list[nodes.Node] = []
        title = " ".join(self.arguments)
        if title and _TITLED.match(title):
            words, _ = self.state.inline_text(title, self.lineno)
            found.append(nodes.paragraph("", "", nodes.strong("", "", *words)))
        self.state.nested_parse(_without_options(self.content), self.content_offset, holder)
        return [*found, *holder.children]


class _Code(Directive):
    """Code in whatever language."""

    has_content = True
    optional_arguments: ClassVar[int] = 1
    final_argument_whitespace: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        words = "\n".join(_without_options(self.content)).strip("\n")
        return [nodes.literal_block(words, words)] if words else []


class _Nothing(_Content):
    """A directive without text."""

    def run(self) -> list[nodes.Node]:
        return []


def read_rst(text: str, *, path: str) -> Document:
    """Read a page of reStructuredText. Raises Unfit."""
    try:
        html = _html(text)
    except RecursionError as error:
        raise Unfit("nested too deep") from error
    return read_html(html, path=path)


def _html(text: str) -> str:
    # Docutils asks these two functions for what a name means, and has no other way to be told.
    of_directives: Any = directives
    of_roles: Any = roles
    of_directives.directive = _directive
    of_roles.role = _role
    tree: Any = publish_doctree(text, settings_overrides=_SETTINGS)
    for message in list(tree.findall(nodes.system_message)):
        message.parent.remove(message)
    for unresolved in list(tree.findall(nodes.problematic)):
        unresolved.parent.replace(unresolved, nodes.Text(unresolved.astext().strip("|_`")))
    for box in [*tree.findall(nodes.Admonition), *tree.findall(nodes.topic), *tree.findall(nodes.sidebar)]:
        # Pages put them beside the text, where `read_html` leaves everything out.
        for title in list(box.findall(nodes.title)):
            box.replace(title, nodes.paragraph("", "", nodes.strong("", title.astext())))
        box.parent.replace(box, box.children)
    for unseen in [*tree.findall(nodes.image), *tree.findall(nodes.comment), *tree.findall(nodes.docinfo)]:
        unseen.parent.remove(unseen)
    if not tree.astext().strip():
        raise Unfit("no text")
    return str(publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS))


def _without_options(content: StringList) -> StringList:
    """The content below the options, which stand at its top if their names are not known."""
    count = next((at for at, line in enumerate(content) if not _OPTION.match(line)), len(content))
    return content[count:]


def _directive(name: str, language: Any, document: nodes.document) -> tuple[type[Directive], list[nodes.Node]]:
    plain = name.rpartition(":")[2]
    if plain in _NOT_SHOWN:
        return _Nothing, []
    if plain in _CODE:
        return _Code, []
    known, messages = _KNOWN_DIRECTIVE(name, language, document)
    return (known or _Content), ([] if known is None else messages)


def _role(name: str, language: Any, line: int, reporter: Any) -> tuple[Any, list[nodes.Node]]:
    known, messages = _KNOWN_ROLE(name, language, line, reporter)
    return (known, messages) if known and name in _PLAIN_ROLES else (_say, [])


def _say(
    name: str, rawtext: str, text: str, line: int, inliner: Any, options: Any = None, content: Any = ()
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """What a role shows: its words without the target, and of a bare target its last part in words."""
    words = text.replace("\x00", "").strip()
    told = _TARGET.sub("", words)
    if not told:
        told = words.strip("<> ")
    if told == words and name.rpartition(":")[2] in ("ref", "doc", "numref"):
        told = re.sub(r"[-_]+", " ", words.rstrip("/").rpartition("/")[2])
    return [nodes.Text(told.replace("-->", ">").lstrip("~!"))], []


_KNOWN_DIRECTIVE: Any = directives.directive
_KNOWN_ROLE: Any = roles.role
_PLAIN_ROLES_NAMES = """
    emphasis strong literal code subscript superscript sub sup title-reference math
"""
_PLAIN_ROLES = frozenset(_PLAIN_ROLES_NAMES.split())
