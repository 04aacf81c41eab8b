"""A Shopify shop over its GraphQL Admin API, version 2026-10 (docs/guides/shopify.md)."""
