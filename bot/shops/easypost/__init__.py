"""Parcels that EasyPost tracks."""
