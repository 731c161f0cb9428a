"""What exact tables are asked for, and what of them may be shown."""
