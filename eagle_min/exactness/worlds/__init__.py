"""The small worlds in which samplers are tried."""
