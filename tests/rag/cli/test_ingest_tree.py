import json

from rag.cli import main


def test_trees_are_built_from_the_command_line(capsys, tmp_path):
    for name, text in (
        ("ship", "The engine burns heavy fuel. It is primed."),
        ("port", "The port closes at dusk."),
    ):
        (tmp_path / f"{name}.txt").write_text(text)
    data = ["--data", str(tmp_path / "data")]
    assert main([*data, "ingest", str(tmp_path / "ship.txt"), str(tmp_path / "port.txt")]) == 0
    assert main([*data, "tree", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "0 passages, about 0 summaries" in err
    found = json.loads(out.splitlines()[-1])
    assert found == {"documents": 2, "nodes": 3, "left_out": 0}
