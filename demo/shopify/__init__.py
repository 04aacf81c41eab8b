"""A stand-in for Shopify's GraphQL Admin API, with the customers and orders of demo/shop."""
