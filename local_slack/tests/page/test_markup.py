"""Text as people and apps write it, and the HTML that comes of it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_slack.page.markup import Names, formatted_date, markdown, mrkdwn, plain, rich_text
from local_slack.tests.page.reading import Reading
from tests.patience import patience

NAMES = Names(
    {"U1": "Agent A", "U2": "<b>"}, {"C1": "support"}, viewer="U1", now=1_795_200_000, groups={"S2": "billing"}
)

SOUP = st.text(st.sampled_from("*_~`<>|:&;!@#^[]()\\/\"' \n\nabU1→\x00\ud800https://javascript")) | st.text()
"""Text that is all markup, and any text."""


def test_mrkdwn_becomes_the_html_that_slack_would_show() -> None:
    table = [
        ("*bold* _italic_ ~gone~", "<p><strong>bold</strong> <em>italic</em> <del>gone</del></p>"),
        ("*bold _and italic_*", "<p><strong>bold <em>and italic</em></strong></p>"),
        ("snake_case_name and 5 * 3 * 2", "<p>snake_case_name and 5 * 3 * 2</p>"),
        ("**not bold** and * neither *", "<p>**not bold** and * neither *</p>"),
        ("*over\nlines*", "<p>*over<br>lines*</p>"),
        ("`*code*` stays", "<p><code>*code*</code> stays</p>"),
        ("a &amp; b &lt;tag&gt;", "<p>a &amp; b &lt;tag&gt;</p>"),
        ("<b>raw</b>", "<p>&lt;b&gt;raw&lt;/b&gt;</p>"),
        ("&gt; quoted\n&gt; twice\nnot", "<blockquote>quoted<br>twice</blockquote><p>not</p>"),
        ("&gt;&gt;&gt; to\nthe end", "<blockquote>to<br>the end</blockquote>"),
        ("one\n\ntwo", "<p>one</p><p>two</p>"),
        ("```\nx &lt; 1\n```", "<pre><code>x &lt; 1</code></pre>"),
        ("10:30:45 and :nothing:", "<p>10:30:45 and :nothing:</p>"),
        ("", ""),
    ]
    misses = [(written, got) for written, drawn in table if (got := mrkdwn(written, NAMES)) != drawn]
    assert misses == []


def test_mentions_carry_the_names_of_people_and_channels() -> None:
    said = Reading(mrkdwn("<@U1> in <#C1|old-name>, <!here>, <@U9>, <!subteam^S1|@oncall>, <!subteam^S2>", NAMES))
    assert said.words == "@Agent A in #support, @here, @U9, @oncall, @billing"


def test_a_mention_of_the_one_who_looks_stands_out() -> None:
    assert "mention-me" in mrkdwn("<@U1>", NAMES)
    assert "mention-me" not in mrkdwn("<@U9>", NAMES)


def test_a_name_cannot_bring_markup_along() -> None:
    assert Reading(mrkdwn("<@U2>", NAMES)).words == "@<b>"


def test_links_show_their_label_and_open_elsewhere() -> None:
    drawn = mrkdwn("<https://a.example/x_y?a=1&amp;b=2|the *page*>", NAMES)
    said = Reading(drawn)
    assert said.links == ["https://a.example/x_y?a=1&b=2"]
    assert said.words == "the *page*"
    assert 'rel="noopener noreferrer"' in drawn


def test_other_schemes_are_never_links() -> None:
    table = ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "//x"]
    misses = []
    for scheme in table:
        section = {"elements": [{"type": "link", "url": scheme, "text": "press me"}], "type": "rich_text_section"}
        if (
            Reading(mrkdwn(f"<{scheme}|press me>", NAMES)).links != []
            or Reading(markdown(f"[press me]({scheme}) <{scheme}> ![x]({scheme})", NAMES)).links != []
            or Reading(rich_text({"elements": [section]}, NAMES)).links != []
        ):
            misses.append(scheme)
    assert misses == []


def test_emoji_have_a_name_for_those_who_hear_the_page() -> None:
    assert mrkdwn(":outbox_tray:", NAMES) == '<p><span class="emoji" role="img" aria-label="outbox tray">📤</span></p>'


def test_plain_text_knows_emoji_and_line_breaks_only() -> None:
    assert plain("*a* <@U1>\n:wave:").startswith("*a* &lt;@U1&gt;<br><span")


def test_dates_are_written_in_words() -> None:
    assert formatted_date("1795200000", "{date_num}", "then", NAMES).startswith("2026-11-2")
    assert formatted_date("1795199000", "{date_short_pretty} {ago}", "then", NAMES) == "today 16 minutes ago"
    assert formatted_date("9" * 30, "{time}", "then", NAMES) == "then"
    assert "since" in mrkdwn("<!date^1795200000^since {time}|since 14:00>", NAMES)


def test_markdown_is_drawn_without_html_and_without_pictures() -> None:
    drawn = markdown("# Title\n\n**b** <i>x</i> ![lamp](https://a.example/l.png)\n\n| a |\n|---|\n| ~~1~~ |", NAMES)
    said = Reading(drawn)
    assert said.tags[:2] == ["h4", "p"]
    assert "<i>x</i>" in said.words
    assert said.links == ["https://a.example/l.png"]
    assert "<s>1</s>" in drawn


def test_markdown_knows_mentions_and_emoji_too() -> None:
    assert Reading(markdown("<@U1> :wave:", NAMES)).words.strip() == "@Agent A 👋"


def test_rich_text_is_drawn_with_lists_styles_and_quotes() -> None:
    words = {"type": "text", "text": "a\nb", "style": {"bold": True, "code": True}}
    section = {"type": "rich_text_section", "elements": [words, {"type": "hologram"}]}
    block = {
        "type": "rich_text",
        "elements": [
            section,
            {"type": "rich_text_list", "style": "ordered", "offset": 2, "indent": 1, "elements": [section]},
            {"type": "rich_text_quote", "elements": [words]},
            {"type": "rich_text_preformatted", "elements": [words]},
        ],
    }
    drawn = rich_text(block, NAMES)
    assert '<ol class="indent-1" start="3"><li><strong><code>a<br>b</code></strong>' in drawn
    assert "<blockquote>" in drawn
    assert "[hologram]" in Reading(drawn).words


@given(SOUP)
def test_no_text_breaks_out_of_the_page(written: str) -> None:
    Reading(mrkdwn(written, NAMES))
    Reading(markdown(written, NAMES))
    Reading(plain(written))


@given(st.text(st.characters(exclude_characters="*_~`<>:&\n\x00", exclude_categories=("Cs", "Cc"))))
def test_text_without_marks_is_shown_as_it_is(written: str) -> None:
    assert Reading(mrkdwn(written, NAMES)).words.strip() == written.strip().replace("\ue000", "\ufffd")


@pytest.mark.parametrize("piece", ["*", "*a ", "_*~", "<", "`", ":a", "[", "![[", "> ", "*a*", "<a|"])
def test_drawing_takes_time_in_proportion_to_the_text(piece: str) -> None:
    written = (piece * 40_000)[:40_000]
    started = time.process_time()
    mrkdwn(written, NAMES)
    markdown(written, NAMES)
    assert time.process_time() - started < patience(3)
