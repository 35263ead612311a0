"""Tables, pages and number files."""
