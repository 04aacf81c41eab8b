"""The server that answers by script and the model behind it, as the tests of the loop have them."""

from tests.agent.conftest import model, server

__all__ = ["model", "server"]
