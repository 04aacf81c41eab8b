"""The beginnings of database addresses. They are apart from bot/store/database.py, whose imports take too long for
every command.
"""

SQLITE = "sqlite+aiosqlite:///"
POSTGRES = ("postgresql://", "postgres://", "postgresql+asyncpg://")
