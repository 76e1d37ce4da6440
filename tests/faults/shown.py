"""What stands on a page of a tab without a browser, as the server's messages have drawn it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

WAYS = {
    "button",
    "chat_input",
    "text_area",
    "text_input",
    "file_uploader",
}  # elements that a person acts on here

Path = tuple[int, ...]


@dataclass
class _Placed:
    """An element, the run of the page that drew it, and the fragment that it is drawn by."""

    element: Element
    run: str
    fragment: str


@dataclass
class Shown:
    """What stands on a page, by its place; `told` are the words that passed by, as a toast's."""

    places: dict[Path, _Placed] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    run: str = ""  # that draws now

    def take(self, message: ForwardMsg) -> None:
        """Draw what a message says, and clear what a run that has ended did not draw again."""
        match message.WhichOneof("type"):
            case "new_session":
                self.run = message.metadata.run.script_run_id
            case "delta":
                self._draw(message)
            case "script_finished" if message.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY,
                ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
            ):
                self._clear(message.metadata.run.script_run_id, set(message.metadata.run.fragment_ids))

    @property
    def text(self) -> str:
        """All words on the page, from its top to its bottom."""
        return self._said(self.places)

    @property
    def latest(self) -> str:
        """The words on the page that the latest run has drawn."""
        return self._said(place for place, placed in self.places.items() if placed.run == self.run)

    def way(self, key: str) -> _Placed | None:
        """Return what has this key among what can be acted on."""
        return next((placed for placed in self.places.values() if _key(placed.element) == key), None)

    def ways(self, start: str) -> list[str]:
        """Return the keys that begin so, from the top of the page to its bottom."""
        keys = (_key(self.places[place].element) for place in sorted(self.places))
        return [key for key in keys if key.startswith(start)]

    def _said(self, places: Iterable[Path]) -> str:
        return "\n".join(filter(None, (words(self.places[place].element) for place in sorted(places))))

    def _draw(self, message: ForwardMsg) -> None:
        place, delta = tuple(message.metadata.delta_path), message.delta
        if delta.WhichOneof("type") != "new_element":
            self.places.pop(place, None)
            return
        for below in [other for other in self.places if other[: len(place)] == place]:
            del self.places[below]  # an element in the place of a container has nothing in it
        if delta.new_element.WhichOneof("type") == "toast":
            self.told.append(delta.new_element.toast.body.replace("\\", ""))
        self.places[place] = _Placed(delta.new_element, self.run, delta.fragment_id)

    def _clear(self, run: str, fragments: set[str]) -> None:
        self.places = {
            place: placed
            for place, placed in self.places.items()
            if placed.run == run or (fragments and placed.fragment not in fragments)
        }


def words(element: Element) -> str:
    """Return what an element says, with what escapes are for taken out."""
    match element.WhichOneof("type"):
        case "markdown":
            return element.markdown.body.replace("\\", "")
        case "heading":
            return element.heading.body
        case "alert":
            return element.alert.body.replace("\\", "")
        case "progress":
            return element.progress.text.replace("\\", "")
        case "button":
            return element.button.label
        case "bidi_component" if element.bidi_component.component_name.endswith("footnote_documents"):
            return element.bidi_component.json  # the table of documents; the others hold labels of their own
    return ""


def _key(element: Element) -> str:
    """Return what the page calls a thing that can be acted on: the end of "$$ID-8f6a...-new-chat"."""
    kind = element.WhichOneof("type")
    id_: str = getattr(element, kind).id if kind in WAYS else ""
    return id_.split("-", 2)[2] if id_.count("-") > 1 else ""
