"""Benchmarks: how well okl finds, beside baselines of the same run, and how fast it is. `python -m bench --help`."""
