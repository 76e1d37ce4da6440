"""A chat as JSON: all that is needed to check each quote again, `footnote verify` reads it."""

import json
from dataclasses import asdict
from typing import Any

from rag.chat.export import ExportedChat, ExportedTurn

FORM = "footnote-chat"
VERSION = 1


def to_json(chat: ExportedChat) -> str:
    """Return a chat as JSON; an answer's markers `[n]` are its quotes' `marker`."""
    told = {
        "form": FORM,
        "version": VERSION,
        "id": chat.id,
        "title": chat.title,
        "exported": chat.exported.isoformat(),
        "turns": [_turn(turn) for turn in chat.turns],
    }
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def _turn(turn: ExportedTurn) -> dict[str, Any]:
    return {
        "question": turn.question,
        "asked": turn.asked.isoformat(),
        "understood": turn.understood or turn.question,
        "searched_in": turn.searched_in or None,
        "answer": turn.answer,
        "state": turn.state,
        "model": turn.model or None,
        "backed": turn.backed or None,
        "quotes": [asdict(quote) for quote in turn.quotes],
    }
