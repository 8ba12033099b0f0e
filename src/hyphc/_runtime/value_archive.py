"""Archives of Python values, one ZIP of NPY arrays and a JSON text: read without pickle, and only into registered classes."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .atomic_write import atomic_write, max_unpacked_bytes
from .numpy_files import damage_as_value_error, require_plausible_zip

PathLike = str | os.PathLike[str]
TEXT = "values.json"
FASTEST = 1  # level of compression: higher ones take several times as long, and save a tenth
_MEMBER = "array-{}.npy"


class Codec(NamedTuple):
    """How objects of a class are stored: the fields of an object, and the function that builds an object of fields."""

    to_fields: Callable[[Any], Mapping[str, Any]]
    from_fields: Callable[..., Any]


Codecs = Mapping[type, Codec]


def dataclass_codec(kind: type) -> Codec:
    """Return the codec of a dataclass: all its fields, which are arguments of its constructor."""
    names = [field.name for field in dataclasses.fields(kind) if field.init] if dataclasses.is_dataclass(kind) else []
    return Codec(lambda value: {name: getattr(value, name) for name in names}, kind)


def write_values(path: PathLike, values: Any, codecs: Codecs) -> None:
    """Write a value, made of numbers, texts, arrays, sparse matrices, lists, mappings and registered objects; atomically.

    Arrays are compressed, unless they then unpacked to more than a reader accepts. Equal arrays are stored once.
    """
    encoder = _Encoder(codecs)
    text = json.dumps(encoder.encode(values, ""), allow_nan=False).encode()
    for method in (ZIP_DEFLATED, ZIP_STORED):
        with atomic_write(path) as file, ZipFile(file, "w", method, compresslevel=FASTEST) as archive:
            archive.writestr(TEXT, text)
            for k, array in enumerate(encoder.arrays):
                with archive.open(_MEMBER.format(k), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked <= max_unpacked_bytes(Path(path).stat().st_size):
            return


def read_values(path: PathLike, codecs: Codecs) -> Any:
    """Return the value that ``write_values`` wrote; raise a ValueError for anything else, with the reason in one line."""
    with Path(path).open("rb") as file, damage_as_value_error(), ZipFile(file) as archive:
        require_plausible_zip(archive, Path(path).stat().st_size)
        return _Decoder(codecs, archive).decode(json.loads(archive.read(TEXT)))


class _Encoder:
    """Values to JSON, with arrays apart. Anything but a plain value is a mapping of one key: what it is."""

    def __init__(self, codecs: Codecs) -> None:
        self.codecs = codecs
        self.arrays: list[npt.NDArray[Any]] = []
        self._number: dict[str, int] = {}

    def encode(self, value: Any, place: str) -> Any:
        """Return the JSON of a value; ``place`` is what errors call it."""
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, tuple | list):
            return {type(value).__name__: [self.encode(item, f"{place}[{k}]") for k, item in enumerate(value)]}
        if isinstance(value, dict):
            pairs = ([self.encode(key, place), self.encode(item, f"{place}.{key}")] for key, item in value.items())
            return {"dict": list(pairs)}
        if isinstance(value, np.ndarray):
            return self._encode_array(value, place)
        if sp.issparse(value):
            return {"sparse": self._encode_sparse(value, place)}
        codec = self.codecs.get(type(value))
        if codec is None:
            raise ValueError(f"{place} is {value!r}, which cannot be stored without running code when it is read")
        fields = codec.to_fields(value).items()
        return {type(value).__name__: {name: self.encode(item, f"{place}.{name}") for name, item in fields}}

    def _encode_array(self, array: npt.NDArray[Any], place: str) -> dict[str, Any]:
        if array.dtype.kind == "O":
            return {"objects": [self.encode(item, f"{place}[{k}]") for k, item in enumerate(array.tolist())]}
        if array.dtype.kind not in "fiubUMm":
            raise ValueError(f"{place} is an array of {array.dtype}, which cannot be stored")
        array = np.asarray(array, order="C")
        plain = array.view(np.int64) if array.dtype.kind in "Mm" else array  # dates have no buffer
        digest = sha256(plain.data if array.size else b"").hexdigest()
        key = f"{array.dtype.str} {array.shape} {digest}"
        if key not in self._number:
            self._number[key] = len(self.arrays)
            self.arrays.append(array)
        return {"array": self._number[key]}

    def _encode_sparse(self, given: Any, place: str) -> dict[str, Any]:
        matrix = given.tocsr()
        parts = {name: self._encode_array(getattr(matrix, name), place) for name in ("data", "indices", "indptr")}
        return {**parts, "shape": list(matrix.shape)}


class _Decoder:
    """JSON to values; classes and arrays are looked up, never imported or unpickled."""

    def __init__(self, codecs: Codecs, archive: ZipFile) -> None:
        self.builders = {kind.__name__: codec.from_fields for kind, codec in codecs.items()}
        self.archive = archive

    def decode(self, value: Any) -> Any:
        """Return the value of JSON."""
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise ValueError("a list has no kind")
            return value
        ((kind, content),) = value.items()
        if kind == "float":
            return float(content)
        if kind in ("tuple", "list"):
            items = [self.decode(item) for item in content]
            return tuple(items) if kind == "tuple" else items
        if kind == "dict":
            return {self.decode(key): self.decode(item) for key, item in content}
        if kind == "array":
            return self._decode_array(content)
        if kind == "objects":
            objects = np.empty(len(content), dtype=object)
            objects[:] = [self.decode(item) for item in content]
            return objects
        if kind == "sparse":
            return self._decode_sparse(content)
        if kind not in self.builders:
            raise ValueError(f"it holds a {kind!r}, which this version does not know")
        return self.builders[kind](**{name: self.decode(item) for name, item in content.items()})

    def _decode_array(self, number: Any) -> npt.NDArray[Any]:
        with self.archive.open(_MEMBER.format(int(number))) as member:
            array: npt.NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
            if member.read(1):  # the checksum is compared at the end of the member
                raise ValueError("an array is longer than it says")
        return array

    def _decode_sparse(self, content: Mapping[str, Any]) -> Any:
        parts = tuple(self.decode(content[name]) for name in ("data", "indices", "indptr"))
        matrix = sp.csr_array(parts, shape=tuple(content["shape"]))
        matrix.check_format(full_check=True)  # compiled code does not check indices
        return matrix
