"""Engines that share what SQLAlchemy makes of statements."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine


def sharing_statements(create: Callable[..., AsyncEngine]) -> Callable[..., AsyncEngine]:
    """`create_async_engine` whose engines for one kind of database have one dialect and one cache of statements.

    A third of what a test of the database computes is the compilation of its statements, for two engines each time.
    """
    made: dict[str, list[Engine]] = {}

    def create_async_engine(url: str, **options: Any) -> AsyncEngine:
        engine = create(url, **options)
        earlier = made.setdefault(url, [])
        # One that has asked its database what that can do.
        first = next((each for each in earlier if each.dialect.default_schema_name is not None), None)
        if first is None:
            earlier.append(engine.sync_engine)
        else:
            engine.sync_engine.dialect = engine.sync_engine.pool._dialect = first.dialect
            engine.sync_engine._compiled_cache = first._compiled_cache
        return engine

    return create_async_engine
