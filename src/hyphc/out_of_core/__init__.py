"""The same fit in stages over shards, for rows beyond memory or one machine."""
