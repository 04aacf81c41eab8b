"""How the addresses of databases begin; apart from what opens them, whose imports take too long for every command."""

SQLITE = "sqlite+aiosqlite:///"
POSTGRES = ("postgresql://", "postgres://", "postgresql+asyncpg://")
