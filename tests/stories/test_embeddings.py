"""With EMBEDDING_MODEL the knowledge base is embedded by the model's server instead of the built-in table."""

import pytest

from tests.stories.world import open_world

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_pages_are_found_with_the_servers_embeddings(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("embeddings")
    env = {"EMBEDDING_MODEL": "text-embedding-3-small", "KB_REFRESH": "0 3 * * *"}
    async with open_world(folder, env=env) as world:
        status = await world.staff.runs("/kb status")
        assert "text-embedding-3-small" in status
        assert "Next refresh" in status
        found = await world.staff.runs("/kb search what does express shipping cost")
        assert "Shipping" in found
        asked = {request["path"] for request in await world.model_requests()}
        assert "/v1/embeddings" in asked
