"""With EMBEDDING_MODEL the knowledge base is embedded by the model's server instead of the built-in table."""

from pathlib import Path

import pytest

from tests.stories.stage import Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_pages_are_found_with_the_servers_embeddings(stage: Stage, tmp_path: Path) -> None:
    env = {"EMBEDDING_MODEL": "text-embedding-3-small", "KB_REFRESH": "0 3 * * *"}
    async with stage.open_world(tmp_path, env=env) as world:
        status = await world.staff.runs("/kb status")
        assert "text-embedding-3-small" not in status
        assert "Next refresh" in status
        found = await world.staff.runs("/kb search what does express shipping cost")
        assert "Shipping" in found
        asked = {request["path"] for request in await world.model_requests()}
        assert "/v1/embeddings" in asked
