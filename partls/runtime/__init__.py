"""What the toolkit asks of the machine: interrupts, progress, threads, deadlines, files written whole."""
