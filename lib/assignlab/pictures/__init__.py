"""Charts: data and axes in, axes out. The only room that draws."""
