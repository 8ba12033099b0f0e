"""Mutate files: the k-th input of a seed is the same on every machine."""

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


def mutate(seeds: Sequence[bytes], seed: int, number: int, tokens: Sequence[bytes] = ()) -> bytes:
    """Return one of the seeds, changed in one to eight places."""
    rng = Random((seed << 40) + number)
    content = bytearray(rng.choice(seeds))
    known = (*TOKENS, *tokens)
    for _ in range(1 << rng.randrange(4)):
        change = rng.choice(_CHANGES)
        if change is _put_token:
            _insert(content, rng, rng.choice(known))
        elif change is _splice:
            other = rng.choice(seeds)
            begin = rng.randrange(len(other) + 1)
            _insert(content, rng, other[begin : begin + rng.randrange(1, 64)])
        else:
            change(content, rng)
    return bytes(content[:LONGEST])


def _draw_position(content: bytearray, rng: Random) -> int:
    return rng.randrange(len(content) + 1)


def _insert(content: bytearray, rng: Random, piece: bytes) -> None:
    """Insert a piece, or overwrite what is there with it."""
    begin = _draw_position(content, rng)
    content[begin : begin + (len(piece) if rng.random() < 0.5 else 0)] = piece


def _flip_bit(content: bytearray, rng: Random) -> None:
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def _set_byte(content: bytearray, rng: Random) -> None:
    if content:
        content[rng.randrange(len(content))] = rng.randrange(256)


def _set_integer(content: bytearray, rng: Random) -> None:
    width, order = rng.choice((1, 2, 4, 8)), rng.choice(("little", "big"))
    begin = _draw_position(content, rng)
    number = rng.choice(_INTEGERS) % (1 << 8 * width)
    content[begin : begin + width] = number.to_bytes(width, "little" if order == "little" else "big")


def _remove(content: bytearray, rng: Random) -> None:
    begin = _draw_position(content, rng)
    del content[begin : begin + rng.randrange(1, 32)]


def _repeat(content: bytearray, rng: Random) -> None:
    begin = _draw_position(content, rng)
    piece = content[begin : begin + rng.randrange(1, 32)]
    content[begin:begin] = piece * rng.choice((1, 2, 3, 10, 300))


def _swap(content: bytearray, rng: Random) -> None:
    begin, other = sorted((_draw_position(content, rng), _draw_position(content, rng)))
    content[begin:] = content[other:] + content[begin:other]


def _cut_off(content: bytearray, rng: Random) -> None:
    del content[_draw_position(content, rng) :]


def _put_token(content: bytearray, rng: Random) -> None:
    """Insert a token that readers may not expect; ``mutate`` does it, this is its entry in the list of changes."""


def _splice(content: bytearray, rng: Random) -> None:
    """Insert a piece of another seed; ``mutate`` does it, this is its entry in the list of changes."""


_CHANGES: tuple[Change, ...] = (
    _flip_bit, _set_byte, _set_integer, _remove, _repeat, _swap, _cut_off, _put_token, _put_token, _put_token, _splice,
)  # fmt: skip
