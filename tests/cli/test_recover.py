import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from PIL import Image
from typer.testing import CliRunner

from riemtr.cli import recover as module
from riemtr.cli.app import app
from riemtr.data import (
    BernoulliGaussian,
    Conditioned,
    align,
    coefficient_error,
    dictionary_error,
    load_image,
    patches,
)
from riemtr.recovery import recover_dictionary

SAMPLE = BernoulliGaussian(n=6, p=800, theta=0.2, dictionary=Conditioned(10.0)).draw(0)
Y = SAMPLE.observations


def recover(*arguments):
    return CliRunner().invoke(app, ["recover", *map(str, arguments)])


def words(outcome):
    """The output without frames and line breaks."""
    lines = (line.strip("│╭╮╰╯─ ") for line in outcome.output.splitlines())
    return " ".join(" ".join(lines).split())


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture
def data(tmp_path):
    np.save(tmp_path / "Y.npy", Y)
    return tmp_path / "Y.npy"


def test_the_truth_is_recovered_explained_and_saved(data, tmp_path):
    out = tmp_path / "new" / "found"
    outcome = recover(data, "--out", out)
    assert outcome.exit_code == 0, outcome.output
    assert names(out) == ["A.npy", "X.npy", "report.json", "sparsity.png"]
    A, X = np.load(out / "A.npy"), np.load(out / "X.npy")
    assert dictionary_error(A, SAMPLE.dictionary) < 1e-12
    match = align(A, SAMPLE.dictionary)
    assert coefficient_error(X, SAMPLE.coefficients, match) < 1e-12
    assert np.array_equal(X[match.permutation] == 0, SAMPLE.coefficients == 0)
    report = json.loads((out / "report.json").read_text(), parse_constant=pytest.fail)
    assert report["trusted"] is True
    assert report["rows_certified"] == report["rows_exactly_sparse"] == 6
    assert report["shape"] == [6, 800]
    assert report["seed"] == 0
    assert report["mu"] == 1e-2
    assert report["relative_residual"] < 1e-13
    assert report["source"] == str(data)
    text = words(outcome)
    zeros = f"{np.mean(SAMPLE.coefficients == 0):.0%}"
    assert f"every row of X is exactly sparse: {zeros} of its entries are zero" in text
    assert report["rows_proved"] == 6
    assert report["rows_doubtful"] == 0
    assert "rows 6 proved" in text
    assert "6 of 6: a duality gap proves" in text
    assert "trust all rows" in text
    assert text.count("proved 7") + text.count("proved 8") == 6  # and the share of zeros
    assert "start" not in text  # one start says nothing of others
    assert (out / "sparsity.png").read_bytes().startswith(b"\x89PNG")


def test_the_files_hold_what_the_function_returns(data, tmp_path):
    outcome = recover(
        data, "--out", tmp_path / "o", "--mu", 0.02, "--rng", 3, "--rank", 6, "--n-jobs", 1, "-q"
    )
    assert outcome.exit_code == 0
    found = recover_dictionary(Y, mu=0.02, rng=3, rank=6)
    assert np.allclose(np.load(tmp_path / "o" / "A.npy"), found.dictionary, atol=1e-12)
    assert np.allclose(np.load(tmp_path / "o" / "X.npy"), found.coefficients, atol=1e-11)
    assert len(outcome.output.splitlines()) == 1
    assert "6 atoms of 6 numbers: 6 proved" in outcome.output


def test_the_exact_solver(data, tmp_path):
    assert recover(data, "--out", tmp_path / "o", "--solver", "exact", "-q").exit_code == 0
    A = np.load(tmp_path / "o" / "A.npy")
    assert dictionary_error(A, SAMPLE.dictionary) < 1e-12
    report = json.loads((tmp_path / "o" / "report.json").read_text())
    assert "radius=0.01" in report["solver"]


def test_results_are_replaced_only_by_force(data, tmp_path):
    out = tmp_path / "o"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    assert recover(data, "--out", out, "-q").exit_code == 0
    (out / "A.npy").write_text("precious")
    refused = recover(data, "--out", out)
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert len(refused.stderr.splitlines()) == 1
    assert "--force" in refused.stderr
    assert (out / "A.npy").read_text() == "precious"
    assert recover(data, "--out", out, "--force", "-q").exit_code == 0
    assert dictionary_error(np.load(out / "A.npy"), SAMPLE.dictionary) < 1e-12
    assert (out / "notes.txt").read_text() == "mine"


def test_an_image_gives_patches_around_their_mean_and_a_picture_of_the_atoms(tmp_path):
    pixels = (255 * load_image("camera")[128:256, 128:256]).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    out = tmp_path / "o"
    outcome = recover(tmp_path / "photo.png", "--patch-size", 3, "--out", out)
    assert outcome.exit_code == 0, outcome.output  # doubtful rows, but nothing was to be proved
    assert "refined all rows together" in words(outcome)
    assert "duality gap proves" not in words(outcome)
    expected = ["A.npy", "X.npy", "atoms.png", "offset.npy", "report.json", "sparsity.png"]
    assert names(out) == expected
    data = patches(pixels / 255, 3)
    A, X, offset = (np.load(out / f"{name}.npy") for name in ("A", "X", "offset"))
    assert np.allclose(A @ X + offset[:, None], data, atol=1e-12)
    assert np.allclose(offset, data.mean(axis=1))
    report = json.loads((out / "report.json").read_text())
    assert report["patch_size"] == 3
    assert report["offset"] == offset.tolist()
    assert report["relative_residual"] < 1e-13
    assert report["rows_doubtful"] > 0
    fewer = recover(tmp_path / "photo.png", "--patch-size", 3, "--rank", 5, "--out", out, "--force")
    assert fewer.exit_code == 0
    assert np.load(out / "A.npy").shape == (9, 5)
    assert np.allclose(np.load(out / "offset.npy"), data.mean(axis=1))
    # Results without patches and offset leave none of the replaced ones behind.
    np.save(tmp_path / "Y.npy", Y)
    assert recover(tmp_path / "Y.npy", "--out", out, "--force").exit_code == 0
    assert names(out) == ["A.npy", "X.npy", "report.json", "sparsity.png"]


def test_an_offset_can_be_asked_for_and_left_out(tmp_path):
    np.save(tmp_path / "Y.npy", Y + np.arange(6.0)[:, None])
    assert recover(tmp_path / "Y.npy", "--out", tmp_path / "o", "--offset", "-q").exit_code == 0
    assert dictionary_error(np.load(tmp_path / "o" / "A.npy"), SAMPLE.dictionary) < 1e-12
    offset = np.load(tmp_path / "o" / "offset.npy")
    assert np.allclose(offset, np.arange(6.0), atol=1e-12)
    recover(tmp_path / "Y.npy", "--out", tmp_path / "p", "--no-offset", "-q")
    assert not (tmp_path / "p" / "offset.npy").exists()


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".mat"])
def test_other_formats_with_samples_in_rows(tmp_path, suffix):
    path = tmp_path / f"data{suffix}"
    if suffix == ".csv":
        np.savetxt(path, Y.T, delimiter=",", header="a,b,c,d,e,f", comments="")
    elif suffix == ".npz":
        np.savez(path, Z=Y.T, other=np.eye(3))
    else:
        scipy.io.savemat(path, {"Z": Y.T, "other": np.eye(3)})
    choose = [] if suffix == ".csv" else ["--variable", "Z"]
    assert recover(path, "--transpose", *choose, "--out", tmp_path / "o", "-q").exit_code == 0
    A = np.load(tmp_path / "o" / "A.npy")
    assert dictionary_error(A, SAMPLE.dictionary) < 1e-10


def test_a_table_keeps_its_names_and_is_asked_about_its_times(tmp_path):
    path = tmp_path / "table.csv"
    columns = np.column_stack([np.arange(800) / 256, Y.T])
    np.savetxt(path, columns, delimiter=",", header="time,Fz,Cz,Pz,Oz,O1,O2", comments="")
    asked = recover(path, "--transpose", "--out", tmp_path / "o")
    assert asked.exit_code == 2
    assert "say --drop time to leave it out, or --keep time if it is data" in asked.stderr
    assert len(asked.stderr.splitlines()) == 1
    assert not (tmp_path / "o").exists()
    outcome = recover(path, "--transpose", "--drop", "time", "--out", tmp_path / "o", "-q")
    assert outcome.exit_code == 0
    channels = ["Fz", "Cz", "Pz", "Oz", "O1", "O2"]
    report = json.loads((tmp_path / "o" / "report.json").read_text())
    assert report["names"] == channels
    lines = (tmp_path / "o" / "dictionary.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["feature", *channels]


def test_rank_deficient_data_need_a_rank_and_say_so(tmp_path):
    path = tmp_path / "Y.npy"
    np.save(path, np.vstack([Y, Y[:1] + Y[1:2]]))
    refused = recover(path, "--out", tmp_path / "o")
    assert refused.exit_code == 2
    assert "--rank auto" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert not (tmp_path / "o").exists()
    assert recover(path, "--out", tmp_path / "o", "--rank", "auto", "-q").exit_code == 0
    assert np.load(tmp_path / "o" / "A.npy").shape == (7, 6)


def test_doubtful_rows_are_named_and_exit_code_1(tmp_path):
    dense = SAMPLE.coefficients.copy()
    dense[3] = np.random.default_rng(0).standard_normal(dense.shape[1])
    np.save(tmp_path / "Y.npy", SAMPLE.dictionary @ dense)
    outcome = recover(tmp_path / "Y.npy", "--out", tmp_path / "o")
    assert outcome.exit_code == 1
    report = json.loads((tmp_path / "o" / "report.json").read_text())
    assert report["trusted"] is False
    assert report["rows_trusted"] == report["rows_exactly_sparse"] == 5
    (doubtful,) = [row for row in report["rows"] if not row["trusted"]]
    # Its correlation with the others, known from 800 samples only, is an error of a few percent.
    assert "may be above 1%" in doubtful["doubts"][0]
    text = words(outcome)
    assert f"all rows but {doubtful['row']}: a wrong row disturbs A" in text
    assert "may be above 1%" in text
    assert "rows 5 proved, 1 doubtful" in text
    # The others are right all the same.
    X = np.load(tmp_path / "o" / "X.npy")
    cosines = np.abs(X @ dense.T) / np.outer(
        np.linalg.norm(X, axis=1), np.linalg.norm(dense, axis=1)
    )
    trusted = [row["row"] for row in report["rows"] if row["trusted"]]
    assert np.allclose(cosines[trusted].max(axis=1), 1.0, atol=1e-12)


def test_without_exact_zeros_the_words_are_modest(tmp_path):
    noise = 1e-3 * np.random.default_rng(0).standard_normal(Y.shape)
    np.save(tmp_path / "Y.npy", Y + noise)
    outcome = recover(tmp_path / "Y.npy", "--out", tmp_path / "o")
    assert outcome.exit_code == 0
    assert "plausible rows are estimates that nothing proves" in words(outcome)
    report = json.loads((tmp_path / "o" / "report.json").read_text())
    assert report["rows_proved"] == 0
    assert all(0 < row["standard_error"] < 0.1 for row in report["rows"])


def test_the_caveat_stays_where_some_rows_are_doubtful(tmp_path):
    """As it did not: doubtful rows were named, as if the others were proved."""
    noisy = Y + 1e-3 * np.random.default_rng(0).standard_normal(Y.shape)
    # The chance correlation of large Gaussian rows with the others would be an error of all atoms.
    gaussian = 0.02 * np.random.default_rng(1).standard_normal((2, Y.shape[1]))
    np.save(tmp_path / "Y.npy", np.vstack([noisy, gaussian]))
    outcome = recover(tmp_path / "Y.npy", "--out", tmp_path / "o")
    report = json.loads((tmp_path / "o" / "report.json").read_text())
    assert report["rows_doubtful"] > 0
    assert report["rows_plausible"] > 0
    assert "all rows but" in words(outcome)
    assert "plausible rows are estimates that nothing proves" in words(outcome)


@pytest.mark.parametrize(("strict", "code"), [([], 0), (["--strict"], 1)])
def test_where_nothing_can_be_proved_only_strictness_fails(tmp_path, strict, code):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((4, 500)))
    outcome = recover(tmp_path / "noise.npy", "--out", tmp_path / "o", *strict)
    assert outcome.exit_code == code
    assert "4 doubtful" in words(outcome)


@pytest.mark.parametrize(
    "options",
    [
        ["--refine", "full", "--seeds", "2"],
        ["--refine", "none", "--order", "rows"],
        ["--surrogate", "huber"],
    ],
)
def test_options_are_those_of_the_function(tmp_path, options):
    noisy = Y + 1e-3 * np.random.default_rng(0).standard_normal(Y.shape)
    np.save(tmp_path / "Y.npy", noisy)
    assert recover(tmp_path / "Y.npy", "--out", tmp_path / "o", *options, "-q").exit_code == 0
    values = dict(zip([name[2:] for name in options[::2]], options[1::2], strict=True))
    if "seeds" in values:
        values["seeds"] = int(values["seeds"])
    if values.get("refine") == "none":
        values["refine"] = None
    found = recover_dictionary(noisy, rng=0, **values)
    assert np.allclose(np.load(tmp_path / "o" / "A.npy"), found.dictionary, atol=1e-12)
    report = json.loads((tmp_path / "o" / "report.json").read_text())
    assert {name: report[name] for name in values} == values


def test_advice_is_in_terms_of_options_and_files(tmp_path):
    sparse = BernoulliGaussian(n=15, p=1500, theta=0.2).draw(0)
    codes = sparse.coefficients.copy()
    codes[2] = np.random.default_rng(0).standard_normal(1500)
    np.save(tmp_path / "Y.npy", sparse.dictionary @ codes)
    text = words(recover(tmp_path / "Y.npy", "--out", tmp_path / "o"))
    assert "more in report.json" in text
    assert "seeds=3" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.npy"], "there is no file 'none.npy'"),
        (["camra"], "must be one of 'astronaut'"),
        (["Y.npy", "--mu", "-1"], "mu must be a positive finite number"),
        (["Y.npy", "--rank", "many"], "--rank must be"),
        (["Y.npy", "--rank", "9"], "rank must be at most"),
        (["Y.npy", "--refine", "ortho"], "--refine must be one of 'auto', 'full', 'orthogonal'"),
        (["Y.npy", "--surrogate", "l3"], "--surrogate must be one of 'huber', 'l4', 'log-cosh'"),
        (["Y.npy", "--order", "random"], "--order must be one of"),
        (["Y.npy", "--solver", "exact", "--order", "joint"], "--order must be 'rows' or 'rounded'"),
        (["Y.npy", "--drop", "time"], "--drop must be left out: columns of Y.npy have no names"),
        (["raw.fif"], "raw.fif is a recording in a format that riemtr does not read"),
        (["Y.npy", "--n-jobs", "0"], "--n-jobs must be"),
        (["Y.npy", "--patch-size", "4"], "--patch-size must be"),
        (["Y.npy", "--variable", "Z"], "--variable must be left out: Y.npy holds one array"),
        (["Y.npy", "--transpose"], "(--transpose in a terminal)"),
        (["camera", "--transpose"], "--transpose must be left out for an image"),
        (["nan.npy"], "finite"),
        (["complex.npy"], "must be real"),
        (["Y.npy", "--checkpoint", "other.npz"], "was left as it is"),
        (["Y.npy", "--out", "Y.npy"], "is a file"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.save("Y.npy", Y)
    np.save("nan.npy", np.where(Y > 3, np.nan, Y))
    np.save("complex.npy", Y + 1j)
    np.savez("other.npz", Y=Y)
    before = names(tmp_path)
    out = [] if "--out" in arguments else ["--out", "new"]
    outcome = recover(*arguments, *out)
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stderr.startswith("error: ")
    assert message in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
    assert names(tmp_path) == before


def interrupt_before_the_report(monkeypatch):
    """Press Ctrl-C when a recovery has found all rows, and goes on."""

    def interrupted(*arguments, progress, **options):
        def watch(event):
            if event.stage == "report":
                signal.raise_signal(signal.SIGINT)
            progress(event)

        return recover_dictionary(*arguments, progress=watch, **options)

    monkeypatch.setattr(module, "recover_dictionary", interrupted)


def test_an_interrupted_run_continues_with_the_same_command(data, tmp_path, monkeypatch):
    assert recover(data, "--out", tmp_path / "whole", "-q").exit_code == 0
    interrupt_before_the_report(monkeypatch)
    outcome = recover(data, "--out", tmp_path / "o")
    assert outcome.exit_code == 130
    assert "repeat the command" in outcome.stderr
    assert names(tmp_path / "o") == ["checkpoint.sqlite"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.undo()
    outcome = recover(data, "--out", tmp_path / "o")
    assert outcome.exit_code == 0
    assert "continuing where the last run stopped" in outcome.output
    for name in ("A.npy", "X.npy"):
        assert (tmp_path / "o" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert "checkpoint.sqlite" not in names(tmp_path / "o")


@pytest.fixture
def interrupted_drawing(monkeypatch):
    """Press Ctrl-C while the first figure is drawn, when A, X and the report are saved."""

    def press(path, figure):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module, "save_figure", press)
    yield
    monkeypatch.undo()


def test_a_run_interrupted_while_drawing_continues_with_the_same_command(
    data, tmp_path, monkeypatch, interrupted_drawing
):
    out = tmp_path / "o"
    outcome = recover(data, "--out", out)
    assert outcome.exit_code == 130
    assert outcome.stderr == "interrupted; repeat the command to continue where it stopped\n"
    assert names(out) == ["A.npy", "X.npy", "checkpoint.sqlite", "report.json"]
    before = {name: (out / name).read_bytes() for name in ("A.npy", "X.npy")}
    # Another run is not the one that was interrupted.
    refused = recover(data, "--out", out, "--mu", 0.05)
    assert refused.exit_code == 2
    assert "belongs to another run" in refused.stderr
    monkeypatch.undo()
    outcome = recover(data, "--out", out)
    assert outcome.exit_code == 0, outcome.output
    assert names(out) == ["A.npy", "X.npy", "report.json", "sparsity.png"]
    assert all((out / name).read_bytes() == content for name, content in before.items())
    assert recover(data, "--out", out).exit_code == 2  # now it is over


def test_a_run_with_a_checkpoint_elsewhere_says_what_continues_it(
    data, tmp_path, monkeypatch, interrupted_drawing
):
    arguments = (data, "--out", tmp_path / "o", "--checkpoint", tmp_path / "run.sqlite")
    outcome = recover(*arguments)
    assert outcome.exit_code == 130
    assert "repeat the command with --force to continue where it stopped" in outcome.stderr
    assert "repeat the command to continue" in recover(*arguments, "--force").stderr
    monkeypatch.undo()
    assert recover(*arguments).exit_code == 2
    outcome = recover(*arguments, "--force")
    assert outcome.exit_code == 0
    assert "continuing where the last run stopped" in outcome.output


def test_an_interrupted_run_with_other_settings_is_kept_unless_forced(data, tmp_path, monkeypatch):
    interrupt_before_the_report(monkeypatch)
    assert recover(data, "--out", tmp_path / "o", "-q").exit_code == 130
    monkeypatch.undo()
    outcome = recover(data, "--out", tmp_path / "o", "--mu", 0.05)
    assert outcome.exit_code == 2
    assert "add --force to start over" in outcome.stderr
    assert names(tmp_path / "o") == ["checkpoint.sqlite"]
    assert recover(data, "--out", tmp_path / "o", "--mu", 0.05, "--force", "-q").exit_code == 0
    assert json.loads((tmp_path / "o" / "report.json").read_text())["mu"] == 0.05


def test_a_checkpoint_asked_for_is_kept(data, tmp_path):
    path = tmp_path / "run.sqlite"
    assert recover(data, "--out", tmp_path / "o", "--checkpoint", path, "-q").exit_code == 0
    assert path.exists()
    again = recover(data, "--out", tmp_path / "p", "--checkpoint", path, "-q")
    assert again.exit_code == 0
    for name in ("A.npy", "X.npy"):
        assert (tmp_path / "o" / name).read_bytes() == (tmp_path / "p" / name).read_bytes()


def test_without_matplotlib_there_are_results_and_a_hint(data, tmp_path, monkeypatch):
    def missing(name, extra):
        raise module.MissingExtraError(f"this feature needs {name!r}; riemtr[{extra}]")

    monkeypatch.setattr(module, "require", missing)
    outcome = recover(data, "--out", tmp_path / "o")
    assert outcome.exit_code == 0
    assert "no figures: this feature needs 'matplotlib'; riemtr[plot]" in words(outcome)
    assert names(tmp_path / "o") == ["A.npy", "X.npy", "report.json"]


@pytest.mark.parametrize("rank", ["+-3", "²", "many"])
def test_a_rank_that_is_no_number_is_refused(data, tmp_path, rank):
    outcome = recover(data, "--out", tmp_path / "o", "--rank", rank)
    assert outcome.exit_code == 2
    assert f"--rank must be None, 'auto' or an integer of at least 1; got {rank!r}" in (
        outcome.stderr
    )


@pytest.mark.parametrize(("side", "largest"), [(20, 3), (64, 7)])
def test_an_image_too_small_for_its_patches_needs_smaller_ones(tmp_path, side, largest):
    pixels = np.random.default_rng(0).integers(0, 256, (side, side), dtype=np.uint8)
    path = tmp_path / "small.png"
    Image.fromarray(pixels).save(path)
    outcome = recover(path, "--out", tmp_path / "o")
    assert outcome.exit_code == 2
    assert f"--patch-size must be at most {largest} here" in outcome.stderr
    assert "transpose" not in outcome.stderr
    fitting = recover(path, "--out", tmp_path / "o", "--patch-size", largest, "-q")
    assert fitting.exit_code == 0  # it is done, and in noise there is nothing to prove


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_results_are_saved_though_nothing_can_be_printed(data, tmp_path):
    command = [sys.executable, "-m", "riemtr", "recover", data, "--out", tmp_path / "o"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode != 0
    assert "No space left" in ended.stderr
    assert dictionary_error(np.load(tmp_path / "o" / "A.npy"), SAMPLE.dictionary) < 1e-12
    assert (tmp_path / "o" / "report.json").exists()


def test_an_empty_name_of_a_folder_is_refused(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = recover(data, "--out", "")
    assert refused.exit_code == 2
    assert "must name a folder" in " ".join(refused.output.split())
    assert names(tmp_path) == ["Y.npy"]


def test_remarks_of_many_rows_come_once(tmp_path):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((8, 2000)))
    text = words(recover(tmp_path / "noise.npy", "--out", tmp_path / "o"))
    assert text.count("no sparser than noise") == 1
    assert "rows 0-7: no more zeros than any vertex" in text


def test_a_table_with_decimal_commas(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(";".join(map(str, row)) for row in Y.T).replace(".", ","))
    said = recover(path, "--transpose", "--out", tmp_path / "o", "-q")
    assert said.exit_code == 2
    assert "--decimal ," in said.output
    options = ("--transpose", "--decimal", ",", "--out", tmp_path / "o", "-q")
    assert recover(path, *options).exit_code == 0
    assert dictionary_error(np.load(tmp_path / "o" / "A.npy"), SAMPLE.dictionary) < 1e-12


def test_a_wrong_choice_is_refused_without_words_of_the_library():
    said = recover("camera", "--out", "x", "--solver", "newton")
    assert said.exit_code == 2
    assert "'newton' is not one of" in said.output
    assert "Value error" not in said.output
