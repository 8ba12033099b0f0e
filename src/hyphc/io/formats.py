"""Format detection by the first bytes or else by the extension, and errors for unsupported formats."""

from __future__ import annotations

import io
import zipfile
from typing import Literal

from .._runtime.numpy_files import damage_as_value_error
from .sources import FORMAT_NAMES, InputFile, is_compressed

Format = Literal[
    "npy",
    "npz",
    "parquet",
    "feather",
    "mtx",
    "excel",
    "jsonl",
    "h5ad",
    "graphml",
    "gexf",
    "gml",
    "fasta",
    "phylip",
    "edges",
    "text",
]

_MAGIC: dict[bytes, Format] = {
    b"\x93NUMPY": "npy",
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"%%MatrixMarket": "mtx",
}
_EXTENSIONS: dict[Format, str] = {
    "npy": ".npy",
    "npz": ".npz",
    "parquet": ".parquet .pq",
    "feather": ".feather .arrow",
    "mtx": ".mtx",
    "excel": ".xlsx .xlsm",
    "jsonl": ".jsonl .ndjson",
    "h5ad": ".h5ad",
    "graphml": ".graphml",
    "gexf": ".gexf",
    "gml": ".gml",
    "fasta": ".fasta .fa .fas .fna .faa .aln",
    "phylip": ".phy .phylip",
    "edges": ".edges .edgelist",
}
_SUFFIXES: dict[str, Format] = {suffix: found for found, suffixes in _EXTENSIONS.items() for suffix in suffixes.split()}
# Formats with magic bytes: a file with the extension but other first bytes is not in this format.
_BINARY = ("npy", "npz", "parquet", "feather", "mtx", "excel", "h5ad")

_ZIP, _HDF5 = b"PK\x03\x04", b"\x89HDF\r\n\x1a\n"
# Unsupported formats: name, remedy, first bytes and extensions.
_FOREIGN: tuple[tuple[str, str, tuple[bytes, ...], str], ...] = (
    ("an old Excel file", "save it as .xlsx or CSV", (b"\xd0\xcf\x11\xe0",), ".xls"),
    ("an OpenDocument spreadsheet", "save its sheet as CSV", (), ".ods"),
    ("a PDF", "give the table that it was made from", (b"%PDF",), ""),
    ("a picture", "give a table of features, one row a picture", (b"\x89PNG", b"\xff\xd8\xff"), ""),
    ("an R data file", "in R: write.csv(x, 'x.csv')", (b"RDX", b"RDA"), ".rds .rdata"),
    ("a MATLAB file", "save X with numpy.save after scipy.io.loadmat", (b"MATLAB 5",), ".mat"),
    ("an SPSS file", "export it as CSV", (), ".sav"),
    ("a Stata file", "export it as CSV", (), ".dta"),
    ("a SAS file", "export it as CSV", (), ".sas7bdat"),
    ("an SQLite database", "export the table as CSV", (b"SQLite format 3",), ""),
    ("an Avro file", "convert it to Parquet", (b"Obj\x01",), ""),
    ("an ORC file", "convert it to Parquet", (b"ORC",), ""),
    ("an HDF5 file", "save the array with numpy.save, or as .h5ad with anndata", (_HDF5,), ".h5 .hdf5"),
    ("a loom file", "convert it to .h5ad with anndata", (), ".loom"),
    ("a flow cytometry file", "export its events as CSV", (b"FCS",), ""),
    ("a VCF file", "make a table or a distance matrix of the samples first", (), ".vcf"),
    ("a BAM file", "make a table of counts first", (), ".bam"),
    ("a file of reads", "assemble and align them first", (), ".fastq"),
    ("a NEXUS file", "save the alignment as FASTA, or the distances as PHYLIP", (), ".nex"),
    ("a 7z archive", "unpack it", (b"7z\xbc\xaf",), ""),
    ("a RAR archive", "unpack it", (b"Rar!",), ""),
    ("a pickle, which can run any code,", "save the array with numpy.save", (b"\x80\x04", b"\x80\x05"), ".pkl .pickle"),
)


def detect_format(source: InputFile) -> Format:
    """Return the format, or raise an error that names an unsupported one."""
    head = source.head()
    if is_compressed(head):
        raise ValueError(f"{source.label} is compressed; give it as a file that is compressed once, or decompress it.")
    for magic, found in _MAGIC.items():
        if head.startswith(magic):
            return found
    if head.startswith(_ZIP):
        return _detect_archive(source)
    by_suffix = _SUFFIXES.get(source.suffix)
    if head.startswith(_HDF5) and by_suffix == "h5ad":
        return "h5ad"
    _refuse_foreign(source, head)
    if by_suffix in _BINARY:
        begins = f"does not begin as a {FORMAT_NAMES[by_suffix]} file does"
        raise ValueError(f"{source.label} {begins}; write it again, or correct its extension.")
    return by_suffix or _detect_text(head)


def _detect_archive(source: InputFile) -> Format:
    """Return the format of a ZIP archive: NPZ or Excel."""
    if source.suffix == ".npz":
        return "npz"
    with source.open() as file:
        content = io.BytesIO(file.read()) if source.plain_path is None else file
        try:
            with damage_as_value_error(), zipfile.ZipFile(content) as archive:
                inside = archive.namelist()
        except ValueError:  # the error of its reader names the damage
            return _SUFFIXES.get(source.suffix, "npz")
    if "xl/workbook.xml" in inside:
        return "excel"
    if inside and all(name.endswith(".npy") for name in inside):
        return "npz"
    if source.suffix == ".ods":
        _refuse_foreign(source, b"")
    raise ValueError(f"{source.label} is a ZIP archive; unpack it, and give a file in it.")


def _refuse_foreign(source: InputFile, head: bytes) -> None:
    """Raise for a file that is known to be in an unsupported format, by its first bytes or else by its extension."""
    by_head = [foreign for foreign in _FOREIGN if head.startswith(foreign[2])]
    for what, remedy, *_ in by_head or [foreign for foreign in _FOREIGN if source.suffix in foreign[3].split()]:
        raise ValueError(f"{source.label} is {what} and not read by hyphc; {remedy}.")


def _detect_text(head: bytes) -> Format:
    """Return the format of a text file with an unknown extension: FASTA, graphs and JSON lines by their first characters."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b">"):
        return "fasta"
    if start.startswith((b'{"', b"{ ")):
        return "jsonl"
    if start.startswith(b"<gexf"):
        return "gexf"
    return "graphml" if start.startswith((b"<?xml", b"<graphml")) else "text"
