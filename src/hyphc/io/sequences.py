"""Readers of aligned FASTA sequences and of PHYLIP distance matrices."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .._runtime.arrays import Floats
from .._runtime.sanitize import is_number
from .._runtime.validation import require_choice, require_memory
from .points import LARGEST, Points
from .sources import InputFile, decode

SEQUENCE_DISTANCES = ("p", "jukes-cantor")
# Gaps and unknown letters; in proteins N is an amino acid.
_UNKNOWN = b"-.?NX*"
_MOST_DIGITS = 18  # of a number of rows; Python refuses to read thousands of them
_NUCLEOTIDES = frozenset(b"ACGTUN-.?")


def read_fasta(source: InputFile, distance: str = "p") -> Points:
    """Read aligned sequences and return the distances between them.

    "p" is the share of sites that differ, of those that both sequences have; "jukes-cantor" −¾·ln(1 − 4p/3), of nucleotides, the
    expected number of changes a site. Gaps and unknown letters are skipped pair by pair. O(n²·length) time, n² memory.
    """
    require_choice("sequence_distance", distance, SEQUENCE_DISTANCES)
    sequences, _ = decode(source, lambda file: _sequences(source, file.read()))
    names = tuple(name for name, _ in sequences)
    letters = _alignment(source, sequences)
    require_memory(16 * len(names) ** 2, f"The distances of {len(names)} sequences", "take fewer of them")
    shares, n_alone = _differing(letters)
    notes = [f"distances: share of {letters.shape[1]} aligned sites that differ, gaps skipped"]
    if distance == "jukes-cantor":
        shares, notes = _jukes_cantor(source, shares, names), ["distances: by Jukes and Cantor, gaps skipped"]
    notes += [f"apart: {n_alone} pairs without a common site, at the largest distance"] if n_alone else []
    return Points(source.label, shares, "distances", names, notes=tuple(notes))


def _sequences(source: InputFile, text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(">"):
            found.append((line[1:].split(maxsplit=1)[0] if line[1:].strip() else "", []))
        elif line.strip() and not line.startswith(";"):
            if not found:
                before = "a sequence before the first line that begins with '>'"
                raise ValueError(f"{source.label}, line {number}: {before}.")
            found[-1][1].append("".join(line.split()))
    return [(name, "".join(parts).upper()) for name, parts in found]


def _alignment(source: InputFile, sequences: list[tuple[str, str]]) -> npt.NDArray[np.uint8]:
    lengths = {len(sequence) for _, sequence in sequences}
    if len(lengths) > 1 or not sequences:
        what = f"sequences of {min(lengths)} to {max(lengths)} letters" if lengths else "no sequences"
        raise ValueError(f"{source.label} has {what}; align them first, for instance with MAFFT or MUSCLE.")
    return np.array([np.frombuffer(sequence.encode("ascii", "replace"), np.uint8) for _, sequence in sequences])


def _differing(letters: npt.NDArray[np.uint8]) -> tuple[Floats, int]:
    """Return the p-distance of each pair, and the number of pairs without a common site, which get the largest distance."""
    n = len(letters)
    unknown = _UNKNOWN if frozenset(np.unique(letters).tolist()) <= _NUCLEOTIDES else b"-.?X*"
    known = ~np.isin(letters, np.frombuffer(unknown, np.uint8))
    shares = np.zeros((n, n))
    for i in range(n - 1):
        both = known[i] & known[i + 1 :]
        differ = ((letters[i] != letters[i + 1 :]) & both).sum(axis=1)
        with np.errstate(invalid="ignore"):
            shares[i, i + 1 :] = differ / both.sum(axis=1)
    shares += shares.T
    alone = np.isnan(shares)
    shares[alone] = np.nanmax(shares, initial=0.0)
    return shares, int(alone.sum()) // 2


def _jukes_cantor(source: InputFile, shares: Floats, names: tuple[str, ...]) -> Floats:
    if shares.max(initial=0.0) >= 0.75:
        i, j = np.unravel_index(int(shares.argmax()), shares.shape)
        differ = f"{names[i]} and {names[j]} differ in {shares.max():.0%} of their sites"
        raise ValueError(f"{source.label}: {differ}, at which the distance of Jukes and Cantor is infinite; use 'p'.")
    return np.asarray(-0.75 * np.log1p(-4.0 / 3.0 * shares)) + 0.0


def read_phylip(source: InputFile) -> Points:
    """Read a PHYLIP distance matrix: the number of rows, then names and distances, square or lower triangular."""
    words, _ = decode(source, lambda file: [line.split() for line in file if line.strip()])
    n = _count(source, words)
    rows = _join_lines(source, words[1:], n)
    names, numbers = tuple(row[0] for row in rows), [row[1:] for row in rows]
    shape = [len(row) for row in numbers]
    kind = "square" if shape == [n] * n else "lower triangle"
    if kind != "square" and shape not in (list(range(n)), list(range(1, n + 1))):
        raise ValueError(f"{source.label} has rows of {shape[:3]} … distances; expected {n} each, or a lower triangle.")
    matrix = np.zeros((n, n))
    for i, row in enumerate(numbers):
        matrix[i, : len(row)] = [_number(source, cell) for cell in row]
    if kind == "lower triangle":
        matrix = np.tril(matrix, -1) + np.tril(matrix, -1).T
    return Points(source.label, matrix, "distances", names, notes=(f"distances: a matrix in PHYLIP's format, {kind}",))


def _count(source: InputFile, words: list[list[str]]) -> int:
    first = words[0] if words else []  # a file may hold nothing but white space
    if len(first) == 2 and all(word.isdecimal() for word in first):
        raise ValueError(f"{source.label} is an alignment in PHYLIP's format; save it as FASTA.")
    if len(first) != 1 or not first[0].isdecimal() or len(first[0]) > _MOST_DIGITS:
        raise ValueError(f"{source.label} does not begin with the number of rows, as distances in PHYLIP's format do.")
    return int(first[0])


def _join_lines(source: InputFile, lines: list[list[str]], n: int) -> list[list[str]]:
    """Return rows with their continuation lines, those that begin with a number."""
    rows: list[list[str]] = []
    for words in lines:
        if rows and is_number(words[0]) and len(lines) > n:
            rows[-1] += words
        else:
            rows.append(list(words))
    if len(rows) != n:
        raise ValueError(f"{source.label} says that it has {n} rows and has {len(rows)}; write it again.")
    return rows


def _number(source: InputFile, cell: str) -> float:
    if not is_number(cell) or not math.fabs(float(cell)) <= LARGEST:  # False for NaN
        raise ValueError(f"{source.label}: {cell!r} is no distance of at most {LARGEST:g}; correct it.")
    return float(cell)
