"""HTTP interface: OpenAI's form and our own, over the same workspaces as the pages. Nothing without a key."""
