"""All SQL: SQLAlchemy Core, one schema, one file per subject."""
