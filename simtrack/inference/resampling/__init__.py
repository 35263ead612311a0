"""The cluster bootstrap: its law without draws, and its intervals."""
