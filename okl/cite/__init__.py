"""Citations: pointers to words that can be checked, and that are found again after edits."""
