"""The lab page: retrievers compared on the user's own documents."""
