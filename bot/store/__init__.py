"""All SQL: SQLAlchemy Core, one schema, one file a subject."""
