"""`frontdesk kb status`: what the files of the index say. Opening it would take seconds."""

import argparse
import asyncio
import time
from pathlib import Path

from bot.cli.terminal import as_plain
from bot.help_center import status_texts
from bot.settings import Settings
from knowledge.audience import Audience
from knowledge.build.report import LeftOut
from knowledge.embedding.recipe import Recipe, folder_recipe, openai_recipe, table_recipe
from knowledge.status import read_status


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the status; return the exit status."""
    roots = roots_of(given.index or settings.data_dir / "kb")
    print(as_plain(await asyncio.to_thread(_status, roots, settings, problems=given.problems)))
    return 0


def roots_of(public: Path) -> dict[Audience, Path]:
    """The folders of both indexes, beside each other."""
    return {"public": public, "internal": public.with_name(f"{public.name}-internal")}


def recipe_of(settings: Settings) -> Recipe:
    """How the builder makes the embedder that the settings name."""
    if settings.embedding_model is not None:
        key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""
        return openai_recipe(api_key=key, base_url=settings.openai_base_url, model=settings.embedding_model)
    return folder_recipe(settings.embedding_model_folder) if settings.embedding_model_folder else table_recipe()


def _status(roots: dict[Audience, Path], settings: Settings, *, problems: bool) -> str:
    """The states of the public base, and of the internal one if there is one."""
    told = []
    for audience, root in roots.items():
        if audience == "internal" and not root.is_dir():
            continue
        if problems:
            told.append(status_texts.problems(LeftOut.load(root), audience=audience))
            continue
        status = read_status(root, embedder=recipe_of(settings).name, chroma_url=settings.chroma_url or "")
        told.append(status_texts.status(status, audience=audience, now=time.time(), in_full=True))
    return "\n\n".join(told)
