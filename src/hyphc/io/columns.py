"""Assignment of roles (features, labels, names) to columns, as selected or inferred with a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Literal

from .._runtime.sanitize import truncate, visible

Kind = Literal["number", "text", "empty"]

# A text column with distinct values in more than this share of the rows names them; with fewer it is a grouping.
NAMES_DIFFER = 0.5
TEXTS = "texts"  # the known column that is clustered by its words where no column holds numbers
# Numbers with so few distinct values, each this many times on average, may be codes: a note names them if most columns have more.
MOST_CODES, REPEATED = 12, 10
LONGEST_NAME = 100  # characters of a column's name in a message
LISTED = 8  # columns that a message lists before it only counts them


class ColumnsError(ValueError):
    """Error that another choice of columns avoids; ``arguments`` names the parameters of ``read_points`` that make it."""

    def __init__(self, message: str, *arguments: str) -> None:
        super().__init__(message)
        self.arguments = arguments


@dataclass(frozen=True)
class FittedColumns:
    """Columns of the table that a model was fitted to: those it uses, the values of categories, and all others."""

    features: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    others: tuple[str, ...] = ()

    def require(self, source: str, columns: Sequence[Column], exclude: Sequence[str]) -> None:
        """Raise for columns that are missing, and for columns of numbers that the fitted table did not have."""
        header = [column.name for column in columns]
        missing = [name for name in self.features if name not in header]
        known = {*self.features, *self.others, *exclude}
        extra = [column.name for column in columns if column.kind == "number" and column.name not in known]
        if missing:
            close = get_close_matches(missing[0], extra or header, n=1)
            hint = f" (is it {close[0]!r}?)" if close else ""
            lacks = f"{source} has no column{'s' * (len(missing) > 1)} {join_names(missing)}{hint}"
            raise ValueError(f"{lacks}, which the model was fitted to; its columns are {join_names(header)}.")
        if extra:
            has = f"{source} has the column{'s' * (len(extra) > 1)} {join_names(extra)}"
            raise ColumnsError(
                f"{has}, which the fitted table did not have; leave out what the model does not use.", "exclude"
            )


@dataclass(frozen=True)
class ColumnSelection:
    """Columns selected by name or number from 1, several also by a range or a pattern; None is inferred.

    ``known`` are columns that say what is known of the rows, by what they say.
    """

    features: tuple[str, ...] | None = None
    labels: str | None = None
    names: str | None = None
    exclude: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    keep_missing: bool = True  # False: a missing value is a mistake
    known: Mapping[str, str] = field(default_factory=dict)
    in_memory: bool = True  # False: rows are read block by block; then there are no names and no categories
    fitted: FittedColumns | None = None  # of new rows of a model: the columns it was fitted to

    @property
    def given_arguments(self) -> tuple[str, ...]:
        """Names of the arguments that were given."""
        several = ("features", "exclude", "categories", "labels", "names")
        return (*(argument for argument in several if getattr(self, argument) is not None), *self.known)

    def __bool__(self) -> bool:
        return bool(self.given_arguments)


@dataclass(frozen=True)
class Column:
    """Description of a column before its role is chosen; ``n_different`` counts distinct values among the rows inspected.

    ``unit`` is what follows the numbers of a column of text.
    """

    name: str
    kind: Kind
    n_different: int
    n_seen: int
    unit: str | None = None


@dataclass(frozen=True)
class Roles:
    """Positions of the columns by role, and a note for each choice; ``categories`` are the categorical features."""

    features: tuple[int, ...]
    labels: int | None
    names: int | None
    notes: tuple[str, ...]
    categories: frozenset[int] = frozenset()
    known: Mapping[str, int] = field(default_factory=dict)
    encodings: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # values of categories, where they are known


def assign_roles(source: str, columns: Sequence[Column], wanted: ColumnSelection) -> Roles:
    """Return the roles selected; by default numeric columns are features and the first text column with distinct values names
    rows."""
    header = [column.name for column in columns]
    if wanted.fitted is not None:
        wanted.fitted.require(source, columns, wanted.exclude or ())
    labels = None if wanted.labels is None else find_column(source, header, wanted.labels)
    names = None if wanted.names is None else find_column(source, header, wanted.names)
    known = {what: find_column(source, header, column) for what, column in wanted.known.items()}
    categories = frozenset(c for column in wanted.categories or () for c in find_columns(source, header, column))
    taken = {labels, *known.values()}
    text = [c for c, column in enumerate(columns) if column.kind == "text" and c not in taken | categories]
    infer = names is None and wanted.in_memory
    inferred_names = next((c for c in text if _tells_apart(columns[c])), None) if infer else None
    if wanted.features is None:
        taken.add(names)
        numbers = {c for c, column in enumerate(columns) if column.kind == "number" and c not in taken}
        features = tuple(sorted(numbers | categories))
    else:
        asked = [c for column in wanted.features for c in find_columns(source, header, column)]
        features = tuple(dict.fromkeys([*asked, *sorted(categories)]))
        inferred_names = None if inferred_names in features else inferred_names
    excluded = {c for column in wanted.exclude or () for c in find_columns(source, header, column)}
    features = tuple(c for c in features if c not in excluded)
    if not features and TEXTS not in wanted.known:
        units = [f"{column.name} has numbers followed by {column.unit!r}" for column in columns if column.unit]
        hint = f" ({join_names(units)}: remove the unit)" if units else ""
        about = f"its columns are {join_names(header)}: choose features"
        raise ColumnsError(f"{source} has no column of numbers to cluster by{hint}; {about}.", "features")
    chosen = inferred_names if names is None else names
    encodings = {} if wanted.fitted is None else wanted.fitted.categories
    codes = {c: encodings[header[c]] for c in categories if header[c] in encodings}
    roles = Roles(features, labels, chosen, (), categories & frozenset(features), known, codes)
    return replace(roles, notes=tuple(_notes(columns, roles, wanted, excluded)))


def _tells_apart(column: Column) -> bool:
    return column.unit is None and column.n_different > NAMES_DIFFER * column.n_seen


def _may_be_codes(column: Column) -> bool:
    """Return whether numbers may stand for kinds or years: more than two of them, few, and each repeated often.

    Columns named like a batch have a note of their own (``nuisance_columns``).
    """
    from ..similarity.inputs.input_warnings import names_nuisance  # trees are read without similarities

    is_repeated = column.n_seen >= REPEATED * column.n_different
    return 2 < column.n_different <= MOST_CODES and is_repeated and not names_nuisance(column.name)


def find_columns(source: str, header: Sequence[str], wanted: str) -> list[int]:
    """Return the positions of columns given by name or number, a range of numbers (``2-61``), or a pattern (``sample_*``).

    Examples
    --------
    >>> find_columns("x.csv", ["id", "a1", "a2", "b"], "a*"), find_columns("x.csv", ["id", "a1", "a2", "b"], "3-4")
    ([1, 2], [2, 3])
    """
    if wanted in header:
        return [find_column(source, header, wanted)]
    first, dash, last = wanted.partition("-")
    if dash and first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last) <= len(header):
        return list(range(int(first) - 1, int(last)))
    matching = [c for c, name in enumerate(header) if fnmatchcase(name, wanted)]
    return matching or [find_column(source, header, wanted)]


def find_column(source: str, header: Sequence[str], wanted: str) -> int:
    """Return the position of a column given by its name, or by its number from 1."""
    found = [c for c, name in enumerate(header) if name == wanted]
    if len(found) > 1:
        raise ValueError(f"{source} has {len(found)} columns {wanted!r}; give the number of the one you mean.")
    if found:
        return found[0]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(header):
        return int(wanted) - 1
    close = get_close_matches(wanted, header, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"{source} has no column {wanted!r}{hint}; its columns are {join_names(header)}.")


def join_names(names: Sequence[str]) -> str:
    """Return names joined by commas; the middle of a long list is replaced by a count."""
    few = len(names) <= LISTED
    shown = [visible(truncate(name, LONGEST_NAME)) for name in (names if few else [*names[: LISTED - 2], names[-1]])]
    return ", ".join(shown) if few else f"{', '.join(shown[:-1])}, … ({len(names)} in all), {shown[-1]}"


def describe_identifiers(notes: Sequence[str], columns: Sequence[str], found: Sequence[int]) -> list[str]:
    """Return the notes on features once the columns ``found``, which only number the rows, are none."""
    kept = [name for c, name in enumerate(columns) if c not in found]
    about = "it only numbers the rows; ask for it as a feature to use it"
    return [
        *[f"features: {join_names(kept)} (the columns with numbers)"] * bool(kept),
        *(note for note in notes if not note.startswith("features:")),
        *(f"no feature: {columns[c] or 'a column without name'} ({about})" for c in found),
    ]


def _notes(columns: Sequence[Column], roles: Roles, wanted: ColumnSelection, excluded: set[int]) -> list[str]:
    why = "as requested" if wanted.features else "the columns with numbers"
    why += " and the categories" if roles.categories and not wanted.features else ""
    if not wanted.features and any(columns[c].kind == "number" for c in excluded):
        why += ", without those excluded"
    notes = [f"features: {join_names([columns[c].name for c in roles.features])} ({why})"] * bool(roles.features)
    few = [columns[c].name for c in roles.features if c not in roles.categories and _may_be_codes(columns[c])]
    others = [c for c in roles.features if columns[c].n_different > MOST_CODES]
    if few and not wanted.features and len(others) > len(few):
        what = "has" if len(few) == 1 else "have"
        notes.append(f"check: {join_names(few)} {what} few different numbers; exclude codes and years")
    if roles.categories:
        notes.append(f"categories: {join_names([columns[c].name for c in sorted(roles.categories)])} (as requested)")
    if roles.names is not None:
        why = "the first text column with distinct values" if wanted.names is None else "as requested"
        notes.append(f"names: {columns[roles.names].name or 'a column without name'} ({why})")
    if roles.labels is not None:
        notes.append(f"labels: {columns[roles.labels].name} (as requested, not used for clustering)")
    unused = {what: c for what, c in roles.known.items() if what != TEXTS or roles.features}
    notes += [f"{what}: {columns[c].name} (as requested, not clustered by)" for what, c in unused.items()]
    used = {*roles.features, roles.labels, roles.names, *roles.known.values()}
    for c, column in enumerate(columns):
        if c in used:
            continue
        if c in excluded:
            about = "not to be clustered by, as requested"
        elif column.unit is not None:
            about = f"text: numbers followed by {column.unit!r}; remove that from the file to cluster by them"
        elif column.kind == "text" and not _tells_apart(column) and roles.labels is None:
            about = (
                f"text with {column.n_different} different values; choose it as labels to compare the tree with them"
            )
            about += ", or as categories to cluster by" if wanted.in_memory else ""
        else:
            about = {"text": "text", "empty": "empty", "number": "not selected"}[column.kind]
        notes.append(f"not used: {column.name} ({about})")
    return notes
