"""What texts, tests and originals say, held against the strategies; the museum of faults."""
