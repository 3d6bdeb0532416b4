"""What turns text into numbers: embedders, each named by one URI. Nothing heavy is imported before it is used."""
