"""What a server tells whoever runs it: its log, what it counts, whether it can work. No word of a user's."""
