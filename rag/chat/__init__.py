"""Conversations: follow-up questions made to stand alone, query variants, and small talk."""
