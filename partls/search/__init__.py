"""The search: subtrees as the unit of work, explorers that run them, branching rules and incumbents."""
