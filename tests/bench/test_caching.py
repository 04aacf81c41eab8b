"""How the bench counts what providers read from their caches."""

from bench.caching import PROVIDERS, Body, Count, read_prompt

OPENAI, DEEPSEEK, GOOGLE = PROVIDERS
LONG = "word " * 1_100
LONGER = "word " * 4_200


def body(*said: str, instructions: str = LONG, marked: bool = False) -> Body:
    """A request in which the user and the assistant take turns."""
    part = {"type": "text", "text": instructions, "prompt_cache_breakpoint": {"mode": "explicit"}}
    lines = [{"role": role, "content": text} for role, text in zip(["user", "assistant"] * 9, said, strict=False)]
    return {"messages": [{"role": "system", "content": [part] if marked else instructions}, *lines]}


def test_a_conversation_that_grows_at_its_end_is_read_up_to_the_message_before() -> None:
    first, second = read_prompt(body("Hello")), read_prompt(body("Hello", "Hi", "And?"))
    for provider in (OPENAI, DEEPSEEK):
        assert provider.count([first, second]).read == len(first.tokens), provider.name


def test_openai_bills_what_it_writes_and_reads_nothing_that_no_breakpoint_ends() -> None:
    first, other = read_prompt(body("Hello")), read_prompt(body("Good morning"))
    assert OPENAI.count([first, other]) == Count(written=len(first.tokens) + len(other.tokens))
    marked = [read_prompt(body(said, marked=True)) for said in ("Hello", "Good morning")]
    assert OPENAI.count(marked).read == marked[0].breakpoints[0]
    short = read_prompt(body("Hello", instructions="Answer."))
    assert OPENAI.count([short, short]) == Count(plain=2 * len(short.tokens))


def test_deepseek_reads_what_two_requests_had_in_common_from_the_third_on() -> None:
    prompts = [read_prompt(body(said)) for said in ("Hello", "Morning", "Bye")]
    assert DEEPSEEK.count(prompts[:2]).read == 0
    assert DEEPSEEK.count(prompts).read > 1_000


def test_google_reads_nothing_of_a_short_request() -> None:
    for instructions, is_read in ((LONG, False), (LONGER, True)):
        prompt = read_prompt(body("Hello", instructions=instructions))
        assert (GOOGLE.count([prompt, prompt]).read > 0) == is_read
