"""Markdown as site generators write it: visitors' words stay, and nothing that only the generator understands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.site_markup import plain_markdown, without_targets

GENERATORS = {
    "gitbook": (
        '{% hint style="info" %}\n&#x20;Returns are free.\n{% endhint %}\n\n{% tabs %}\n{% tab title="By post" %}\nUse '
        'the label.\n{% endtab %}\n{% endtabs %}\n{% content-ref url="fees.md" %}\n[fees.md](fees.md)\n'
        '{% endcontent-ref %}\n{% embed url="https://shop.example/film" %}\nWrite to us\\_here.',
        "Returns are free. **By post** Use the label. fees.md https://shop.example/film Write to us_here.",
    ),
    "jekyll": (
        '* TOC\n{:toc}\n## Fees {#fees}\nRead [the list]({{ site.baseurl }}/fees){:target="_blank"} or\n'
        "[the law](https://law.example/a_(b)){: .button}.\n{% include note.html %}\n{: .warning }\n"
        "Pay {{ page.title }}now."
        "\n{% highlight ruby %}\nputs '{{ kept }}'\n{% endhighlight %}",
        "## Fees {#fees} Read the list or [the law](https://law.example/a_(b)). Pay now. ``` puts '{{ kept }}' ```",
    ),
    "hugo": (
        '{{< note >}}\nKeep the box.\n{{< /note >}}\n{{% tab header="Linux" %}}\nA '
        '{{< glossary text="parcel" id="p" >}} '
        'goes [there]({{< relref "there.md" >}}).\n{{% /tab %}}\n'
        "See [the list].\n\n[the list]: <{{% ref list.md %}}>",
        "Keep the box. **Linux** A parcel goes there. See the list.",
    ),
    "mkdocs": (
        '!!! note "Before you start"\n    Keep the box.\n\n    ??? tip\n        And the slip.\n\n'
        '=== "App"\n\n    Open it.'
        '\n\n    ```\n    kept()\n    ```\n\nThen [pay](pay.md){ .md-button }.\n--8<-- "fees.md"\n[TOC]',
        "**Before you start** Keep the box. And the slip. **App** Open it. ``` kept() ``` Then pay.",
    ),
    "docusaurus": (
        "import Tabs from '@theme/Tabs';\n\n# Returns\n\n:::note[Good to know]\n\nKeep the box.\n\n:::\n\n"
        '<Tabs groupId={"way"}>\n  <TabItem value="post" label="By post" default>\n  Use the label.\n  </TabItem>\n'
        "</Tabs>\n\n{/* a comment */}It costs {'5 EUR'}{props.more}.\n\n"
        "<Button onClick={() => { go({a: '>'}) }}>Send</Button>",
        "# Returns **Good to know** Keep the box. **By post** Use the label. It costs 5 EUR. Send",
    ),
    "docusaurus in .md": (
        'import { Key } from \'./keys\';\nimport "@site/tip"\n\n# Undo\n\nPress <Key mod="ctrl" k="z" /> to undo.\n'
        "It is free<super>*</super> for <your-team>. import it from there.",
        "# Undo Press ctrl+z to undo. It is free* for <your-team>. import it from there.",
    ),
    "mintlify": (
        '<AccordionGroup>\n<Accordion title="How long does it take?">\nThree days.\n</Accordion>\n</AccordionGroup>\n'
        '<Card title="Fees" href="/fees">What it costs.</Card>',
        "#### How long does it take? Three days. **Fees** What it costs.",
    ),
    "obsidian": (
        "> [!tip]- Save money\n> Send two at once.\n\nSee [[Returns#Fees|the fees]] and [[Parcels]]. ![[box.png]]\n"
        "%% for us %%It weighs 2 kg. ^weight",
        "> **Save money** > Send two at once. See the fees and Parcels. It weighs 2 kg.",
    ),
    "myst": (
        "```{warning} Read this\nKeep the box.\n```\n```{code-block} python\nkept()\n```",
        "**Read this** Keep the box. ```{code-block} kept() ```",
    ),
    "html": (
        '<div align="center"><img src="a.png" alt="A box"><br></div>\n<details><summary>How long?</summary>\n'
        'Three <kbd>days</kbd>.</details>\n<table><tr><th>To</th><th>Days</th></tr><tr><td>AT</td><td><a href="https://a.example">3</a>'
        '</td></tr></table>\n<p style="display:none">Say <p>yes</p></p>Use <your-name>.<script>x()</script>',
        "A box #### How long? Three days. | To | Days | | --- | --- | | AT | [3](https://a.example) | Use <your-name>.",
    ),
    "links": (
        "[Fees][f], [pay](pay.md), <https://a.example>, [`code`](https://b.example) and "
        "![](x.png)![Untitled](y.png)[^1].\n\n"
        "[f]: https://c.example 'Fees'\n[^1]: Since May.",
        "[Fees](https://c.example), pay, https://a.example, [`code`](https://b.example) and . Since May.",
    ),
}
CODE = "Write `{% hint %}` and ``<b> ` </b>``.\n\n~~~\n{% hint %}\n&amp; <b>bold</b> [a](b.md)\n~~~\n"


@pytest.mark.parametrize("generator", GENERATORS)
def test_what_visitors_read_stays_and_the_generators_markup_goes(generator: str) -> None:
    source, wanted = GENERATORS[generator]
    assert " ".join(plain_markdown(source, jsx=generator in ("docusaurus", "mintlify")).split()) == wanted


def test_code_stays_as_it_is() -> None:
    assert plain_markdown(CODE) == CODE
    assert plain_markdown(CODE, jsx=True) == CODE


def test_a_page_about_templates_keeps_their_values() -> None:
    assert plain_markdown("Greet people with {{ customer.name }}.\n") == "Greet people with {{ customer.name }}.\n"


@given(st.text(alphabet="<>{}[]()%!:`#\\\"'= \nab/&;^|", max_size=400))
def test_any_text_is_read(text: str) -> None:
    plain_markdown(text)
    plain_markdown(text, jsx=True)


def test_addresses_of_links_are_not_looked_up() -> None:
    assert without_targets(
        "## Fees {#s29}\nSee [the fees](https://a.example/x_(1)) and [these](mailto:a@b.example)."
    ) == ("## Fees\nSee the fees and these.")
