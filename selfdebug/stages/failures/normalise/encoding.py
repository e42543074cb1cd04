"""Decoding: byte order marks, UTF-16 without one, and bytes of old code pages among UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

BLOCK = 1 << 20
MAX_CARRY = 4 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decoded_blocks(file: BinaryIO) -> Iterator[str]:
    """The text of a file in whatever encoding, in blocks that end with a whole line, every line end a line feed.

    Lone carriage returns end lines as well: progress bars use them.
    """
    carry: list[str] = []
    for block in _decoded(file):
        cut = max(block.rfind("\n"), block.rfind("\r"))
        if cut < 0 or (cut == len(block) - 1 and block[cut] == "\r"):
            carry.append(block)
            if len(carry) * BLOCK > MAX_CARRY:
                yield _line_ends("".join(carry))
                carry = []
            continue
        yield _line_ends("".join(carry) + block[: cut + 1])
        carry = [block[cut + 1 :]]
    rest = "".join(carry)
    if rest:
        yield _line_ends(rest)


def _line_ends(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\n")


def _decoded(file: BinaryIO) -> Iterator[str]:
    first = file.read(BLOCK)
    encoding, skip = _detected(first)
    block = first[skip:]
    if encoding == "utf-8":
        yield from _decoded_bytes(file, block)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while block:
        yield decoder.decode(block).replace("\0", "").replace("\ufeff", "")
        block = file.read(BLOCK)


def _detected(block: bytes) -> tuple[str, int]:
    sample = block[:4096]
    for mark, name in _MARKS:
        if block.startswith(mark) and (name == "utf-8" or sample.count(0) * 10 > len(sample)):
            return name, len(mark)
    if len(sample) >= 8:
        half = len(sample) // 2
        if sample[1::2].count(0) > half * 0.6:
            return "utf-16-le", 0
        if sample[0::2].count(0) > half * 0.6:
            return "utf-16-be", 0
    return "utf-8", 0


def _decoded_bytes(file: BinaryIO, block: bytes) -> Iterator[str]:
    carry = b""
    while block:
        block = carry + block
        cut = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        if cut == 0 and len(block) < MAX_CARRY:
            carry = block
        else:
            cut = cut or len(block)
            carry = block[cut:]
            yield _text(block[:cut])
        block = file.read(BLOCK)
    if carry:
        yield _text(carry)


def _text(block: bytes) -> str:
    block = block.replace(b"\0", b"")
    try:
        return block.decode("utf-8").replace("\ufeff", "")
    except UnicodeDecodeError:
        return "".join(_line_text(line) for line in block.splitlines(keepends=True)).replace("\ufeff", "")


def _line_text(line: bytes) -> str:
    for encoding in ("utf-8", "cp1252"):
        try:
            return line.decode(encoding)
        except UnicodeDecodeError:
            continue
    return line.decode("latin-1")
