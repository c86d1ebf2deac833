"""The search tree: its open subtrees, the order they are explored in, checkpoints, and the task of every strategy."""
