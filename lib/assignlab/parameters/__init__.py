"""What a notebook's parameters may be: declared in its cell, checked wherever it runs."""
