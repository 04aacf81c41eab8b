"""What is looked up of what a customer writes."""

from knowledge.search.questions import FACETS, facets, without_identifiers


def test_mere_manners_ask_nothing() -> None:
    table = ["Thanks!", "Hi there, hope you are doing well.", "", "👍", "Terima kasih kak"]
    misses = [(message, got) for message in table if (got := facets(message)) != ()]
    assert misses == []


def test_a_question_of_words_of_manner_alone_is_looked_up_as_it_is() -> None:
    table = ["What is a team?", "How do I tag?", "Which plan is the best?", "what is a team", "Was ist ein Tag?"]
    assert [facets(question) for question in table] == [(question,) for question in table]


def test_such_a_question_is_not_looked_up_next_to_a_question_that_says_more() -> None:
    assert facets("What is a team? How do I invite my colleagues?") == ("How do I invite my colleagues?",)


def test_a_question_about_nobody_and_nothing_asks_nothing() -> None:
    assert [facets(greeting) for greeting in ("How are you?", "Thanks a lot!")] == [(), ()]


def test_a_question_stands_by_itself_without_greeting_and_thanks() -> None:
    message = "Hello! I have a quick question. How do I return a broken lamp? Thanks a lot in advance!"

    assert facets(message) == ("How do I return a broken lamp?",)


def test_a_story_is_looked_up_whole_and_sentence_by_sentence() -> None:
    message = "I moved to a new flat last week. The lamp arrived with a broken shade. Can I return it?"

    found = facets(message)

    assert found[0] == message
    assert "The lamp arrived with a broken shade." in found


def test_a_flood_of_sentences_is_looked_up_a_few_times_only() -> None:
    assert len(facets("Another sentence about broken lamps. " * 50)) == FACETS


def test_sentences_of_scripts_without_spaces_count_by_their_characters() -> None:
    assert "返品したいのですがどうすればいいですか？" in facets("こんにちは。返品したいのですがどうすればいいですか？")


def test_numbers_of_orders_and_parcels_are_not_embedded() -> None:
    assert without_identifiers("Where is ORD-12345, tracking 1Z999AA10123456784?") == "Where is , tracking ?"
    assert without_identifiers("Lamps of 40 W and COVID-19 in 2026") == "Lamps of 40 W and COVID-19 in 2026"
    assert without_identifiers("ORD-12345") == "ORD-12345"
