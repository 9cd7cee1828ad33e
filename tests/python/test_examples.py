"""The examples: the ones of the reference word for word, and the programs in C."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

DENSE_AND_ACTIVATION = """
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import tensor

with tensor.tensor([1, 2], [1, 2]) as inputs:
    with tensor.tensor([1, 2], [3, 4]) as weights:
        with layers.dense(inputs, weights, [1]) as output:
            assert output.values == [12.0]

assert core.activation(core.Sigmoid, 0.0) == 0.5
"""

DROPOUT = """
from hmath import random

with random.pcg32() as generator:
    with random.seed_rng(generator, 42) as rng:
        with tensor.tensor([1, 2], [1, 2]) as inputs:
            output, mask, advanced = layers.dropout(
                layers.Training.TRAINING, 0.5, rng, inputs
            )
            try:
                print(output.values, mask.values)
            finally:
                output.close()
                mask.close()
                advanced.close()
"""


def test_dense_and_activation(no_leak: None) -> None:
    exec(compile(DENSE_AND_ACTIVATION, "reference", "exec"), {})


def test_dropout(no_leak: None, capsys: pytest.CaptureFixture[str]) -> None:
    """It builds on the names that the first example imports."""
    names: dict[str, object] = {}
    exec(compile(DENSE_AND_ACTIVATION, "reference", "exec"), names)
    exec(compile(DROPOUT, "reference", "exec"), names)
    # PCG32 seeded with 42 gives the uniforms 0.630... and 0.727...: both elements are kept, doubled.
    assert capsys.readouterr().out == "[2.0, 4.0] [2.0, 2.0]\n"


EXAMPLES = sorted((ROOT / "examples" / "c").glob("*.c"))
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@pytest.mark.parametrize("source", EXAMPLES, ids=lambda path: path.stem)
def test_c_example(source: Path, tmp_path: Path) -> None:
    """Each C example compiles without a warning with the flags the package prints, and checks itself."""
    assert COMPILER is not None
    flags = subprocess.run(
        [sys.executable, "-m", "hmath", "--cflags", "--libs"], capture_output=True, text=True, check=True
    ).stdout.split()
    program = tmp_path / source.stem
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    built = subprocess.run(
        [COMPILER, *warnings, source, "-o", program, *flags, "-lm"], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([program], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
