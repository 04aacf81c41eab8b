"""The methods of the Web API, a file a family; `METHODS` in each is its table."""
