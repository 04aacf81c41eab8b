"""Nothing that the validator knows is missing where every kind of block is looked at."""

from local_slack.block_tables import BLOCKS, CHARTS, ELEMENTS, RICH_ELEMENTS, RICH_PARTS
from local_slack.blocks import message_faults, view_faults
from local_slack.tests.page import gallery


def test_the_gallery_has_everything_that_the_validator_knows_and_is_accepted() -> None:
    known = {*BLOCKS, *ELEMENTS, *CHARTS, *RICH_ELEMENTS, *RICH_PARTS}
    assert known - set(gallery.kinds_in([gallery.MESSAGES, gallery.MODAL])) == set()
    assert [message_faults(blocks) for blocks in gallery.MESSAGES] == [[]] * len(gallery.MESSAGES)
    assert view_faults(gallery.MODAL) == []
