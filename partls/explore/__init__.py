"""What a search explores: a subtree in; its closed part, its open part and any better solution out."""
