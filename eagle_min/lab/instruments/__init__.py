"""What measures, and knows no experiment: where measuring starts, clocks, counters, costs, acceptance."""
