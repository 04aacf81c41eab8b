"""With EMBEDDING_MODEL the knowledge base is embedded by the model's server instead of the built-in table."""

import pytest

from tests.stories.world import open_world

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_pages_are_found_with_the_servers_embeddings(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("embeddings")
    async with open_world(folder, env={"EMBEDDING_MODEL": "text-embedding-3-small"}) as world:
        assert "text-embedding-3-small" in await world.staff.runs("/kb status")
        found = await world.staff.runs("/kb search what does express shipping cost")
        assert "Shipping" in found
        asked = {request["path"] for request in await world.model_requests()}
        assert "/v1/embeddings" in asked
