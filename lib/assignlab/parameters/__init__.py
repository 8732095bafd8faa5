"""What a notebook's parameters may be: declared in its cell,
checked in every place that runs it."""
