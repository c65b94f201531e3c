"""The notebooks that ship run from top to bottom, and show what they say; so does the Python of the pages."""

import re
import sys
from pathlib import Path

import drift_rl
import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
for needed in ("ipykernel", "matplotlib", "pandas"):
    pytest.importorskip(needed)

# A last cell for each.
CHECKS = {
    "quickstart": """
accuracy = metrics["held_out.accuracy"].dropna()
assert accuracy.iloc[0] < 0.35 and accuracy.iloc[-1] > 0.8, accuracy
assert metrics["reward"].tail(10).mean() > metrics["reward"].head(10).mean() + 0.3
assert judge(response.texts, [reference])[0].solved, response.texts
assert all(score.status in ("ok", "wrong") for score in judge(answers.texts, [reference] * 4))
""",
    "own_loop": """
for name in runs:
    assert own[name]["reward"].tail(3).mean() > own[name]["reward"].head(3).mean() + 0.2, own[name]
    first = (own[name] - drifts[name]).loc[1].abs()
    assert first["reward"] == 0 and first["loss"] < 1e-6 and first["grad_norm"] < 1e-5, first
assert drifts["rldf"].loc[1, "loss"] != 0 and drifts["espo"].loc[1, "grad_norm"] > 0.1
""",
    "sweep": """
assert len(runs) == 4 and metrics.groupby(["algorithm", "seed"]).ngroups == 4
assert (metrics.groupby(["algorithm", "step"])["reward"].mean().groupby("algorithm").last() > 0.4).all()
assert "pairs" in str(comparison) and "Holm" in str(comparison)
""",
}


def read(source, name):
    return nbformat.read(source / f"sdk/notebooks/{name}.ipynb", 4)


@pytest.mark.parametrize("name", CHECKS)
def test_runs_and_shows_what_it_says(name, source, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(drift_rl.__file__).parents[1]))  # the kernel runs in another folder
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")  # this Python's kernel
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")  # other tests use the processors, too
    book = read(source, name)
    same_python = f"import sys\nassert sys.executable == {sys.executable!r}"
    book.cells.append(nbformat.v4.new_code_cell(same_python + CHECKS[name]))
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3", resources=place).execute()


def test_every_notebook_is_tried_and_has_no_output(source):
    assert {file.stem for file in (source / "sdk/notebooks").glob("*.ipynb")} == set(CHECKS)
    for name in CHECKS:
        book = read(source, name)
        nbformat.validate(book)
        assert not any(cell.outputs for cell in book.cells if cell.cell_type == "code")


def test_the_loop_has_at_most_60_lines(source):
    (loop,) = [cell for cell in read(source, "own_loop").cells if cell.id == "loop"]
    assert len(loop.source.splitlines()) <= 60


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_python_of_the_pages_runs(page, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    blocks = re.findall(r"^```python\n(.*?)^```", (source / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names = {}
    exec(compile("\n".join(blocks), page, "exec"), names)
    assert len(names["run"].metrics) > 10
    if "rewards" in names:
        assert names["rewards"][0] < 0.8 and names["rewards"][-1] > 0.9
