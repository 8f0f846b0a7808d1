"""One declaration each: what is asked, what is measured for it, and how the rows are shown."""
