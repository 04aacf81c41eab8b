"""mrkdwn and Markdown as Slack stores and returns them."""

from local_slack.rich_text import from_markdown, from_mrkdwn, to_mrkdwn


def test_mrkdwn_survives_the_way_there_and_back() -> None:
    table = [
        "plain words",
        "*bold* _italic_ ~gone~ `code`",
        "5*3*2 and snake_case_name",
        "<@U0A> in <#C0B>, <!here> <https://example.com|a page> :wave:",
        "a &lt;b&gt; &amp; c",
        "waiting <!date^1795200000^since {time}|since 14:00>",
        "&gt;quoted\nafter",
        "```\nx *not bold*\n```",
    ]
    misses = [(text, got) for text in table if (got := to_mrkdwn(from_mrkdwn(text))) != text]
    assert misses == []


def test_markdown_becomes_mrkdwn() -> None:
    table = [
        ("# Title\n\nSome **bold** and _italic_", "*Title*\n\nSome *bold* and _italic_"),
        ("- one\n- two\n  - inner", "• one\n• two\n    • inner"),
        ("3. three\n4. four", "3. three\n4. four"),
        (
            "[page](https://example.com/a) and https://example.com",
            "<https://example.com/a|page> and https://example.com",
        ),
        ("> said\n> twice", "&gt;said\n&gt;twice"),
        ("```python\nprint(1 < 2)\n```", "```\nprint(1 &lt; 2)\n```"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a | b\n1 | 2"),
        ("hello <@U0A> :tada:", "hello <@U0A> :tada:"),
        ("an escaped &lt;!channel&gt; and \\<@U0A>", "an escaped &lt;!channel&gt; and &lt;@U0A&gt;"),
        ("<b>html</b>", "&lt;b&gt;html&lt;/b&gt;"),
    ]
    misses = [(markdown, got) for markdown, mrkdwn in table if (got := to_mrkdwn(from_markdown(markdown))) != mrkdwn]
    assert misses == []


def test_a_mention_in_markdown_is_a_mention() -> None:
    (section,) = from_markdown("ping <!channel>")["elements"]
    assert section["elements"][1] == {"type": "broadcast", "range": "channel"}


def test_a_list_inside_a_quote_keeps_its_words() -> None:
    quote = from_markdown("> 1. Sign in\n> 2. Press *Return*\n")["elements"][0]
    assert quote["type"] == "rich_text_quote"
    assert "".join(part["text"] for part in quote["elements"]) == "1. Sign in\n2. Press Return"
