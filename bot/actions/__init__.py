"""Changes of orders: previewed by code, confirmed by the customer, approved above a limit, executed once."""
