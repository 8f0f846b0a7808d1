"""Claims of the papers and of articles about them, each an experiment on the shipped models; see `../study.py`."""
