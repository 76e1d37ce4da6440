from rag.workspace import Workspace
from ui.server import services


def test_services_are_one_until_they_are_closed(here: Workspace):
    assert services.workspace() is here
    services.close()
    assert services.workspace() is not here
