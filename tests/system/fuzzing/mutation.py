"""Inputs by number: the k-th of a seed is the same on every machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

LONGEST = 1 << 16  # bytes of an input; bombs have tests of their own
# What numbers, names and lengths are when they are not what a reader expects.
TOKENS = (
    b"nan", b"inf", b"-inf", b"1e308", b"1e309", b"-0", b"1e-320", b"9" * 40, b"9" * 5000, b"0x10", b"1_0", b"1,5", b"None",
    b"null", b"true", b"{}", b"[]", b"[[", b'"', b"'", b"''", b"(", b")", b",", b";", b":", b"\t", b"\r", b"\n", b"\r\n", b"\0",
    b"\xef\xbb\xbf", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", "\u0663".encode(), "\u2028".encode(),
    b"=cmd|' /C calc'!A0", b"\x1b[31m", b"../", b"#", b"%", b"-1", b"0", b"1", b"2147483648", b"-9223372036854775809", b"1e12",
)  # fmt: skip
_INTEGERS = (0, 1, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1)

Change = Callable[[bytearray, Random], None]


def mutated(seeds: Sequence[bytes], seed: int, number: int, tokens: Sequence[bytes] = ()) -> bytes:
    """One of the seeds, changed in one to eight places."""
    chance = Random((seed << 40) + number)
    content = bytearray(chance.choice(seeds))
    known = (*TOKENS, *tokens)
    for _ in range(1 << chance.randrange(4)):
        change = chance.choice(_CHANGES)
        if change is _put_token:
            _insert(content, chance, chance.choice(known))
        elif change is _splice:
            other = chance.choice(seeds)
            begin = chance.randrange(len(other) + 1)
            _insert(content, chance, other[begin : begin + chance.randrange(1, 64)])
        else:
            change(content, chance)
    return bytes(content[:LONGEST])


def _place(content: bytearray, chance: Random) -> int:
    return chance.randrange(len(content) + 1)


def _insert(content: bytearray, chance: Random, piece: bytes) -> None:
    """In between, or over what is there."""
    begin = _place(content, chance)
    content[begin : begin + (len(piece) if chance.random() < 0.5 else 0)] = piece


def _flip_a_bit(content: bytearray, chance: Random) -> None:
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _set_a_byte(content: bytearray, chance: Random) -> None:
    if content:
        content[chance.randrange(len(content))] = chance.randrange(256)


def _set_an_integer(content: bytearray, chance: Random) -> None:
    width, order = chance.choice((1, 2, 4, 8)), chance.choice(("little", "big"))
    begin = _place(content, chance)
    number = chance.choice(_INTEGERS) % (1 << 8 * width)
    content[begin : begin + width] = number.to_bytes(width, "little" if order == "little" else "big")


def _remove(content: bytearray, chance: Random) -> None:
    begin = _place(content, chance)
    del content[begin : begin + chance.randrange(1, 32)]


def _repeat(content: bytearray, chance: Random) -> None:
    begin = _place(content, chance)
    piece = content[begin : begin + chance.randrange(1, 32)]
    content[begin:begin] = piece * chance.choice((1, 2, 3, 10, 300))


def _swap(content: bytearray, chance: Random) -> None:
    begin, other = sorted((_place(content, chance), _place(content, chance)))
    content[begin:] = content[other:] + content[begin:other]


def _cut_off(content: bytearray, chance: Random) -> None:
    del content[_place(content, chance) :]


def _put_token(content: bytearray, chance: Random) -> None:
    """A word that readers stumble over; stands for itself in the list of changes."""


def _splice(content: bytearray, chance: Random) -> None:
    """A piece of another seed; stands for itself in the list of changes."""


_CHANGES: tuple[Change, ...] = (
    _flip_a_bit, _set_a_byte, _set_an_integer, _remove, _repeat, _swap, _cut_off, _put_token, _put_token, _put_token, _splice,
)  # fmt: skip
