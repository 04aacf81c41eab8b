"""How good the answers are, measured on data that stays outside the repository."""
