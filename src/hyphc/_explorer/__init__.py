"""The explorer's page: its template, style and scripts, and what `hyphc.explore` packs into it."""
