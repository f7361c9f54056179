"""Whether a ZIP archive says the same in all places.

Sizes, names and checksums are in the directory and again before or after each member, and readers differ in
what they believe: players read the directory, programs that unpack a stream read the local headers. Goal:
account for every byte of the archive, and compare whatever is said twice (APPNOTE.TXT 6.3.10, section 4.3).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final
from zipfile import ZIP_DEFLATED, ZipInfo

from seekwarc.cdx.wacz import pieces_of
from seekwarc.check.wacz_rules import Findings, shown
from seekwarc.errors import FormatError
from seekwarc.format.words import counted
from seekwarc.storage.zip_members import ZipArchive, check_ratio

__all__ = ["check_zip", "content_of"]

UTF8: Final = 0x800
ENCRYPTED: Final = 1
DESCRIPTOR: Final = 8
ZIP64_FIELD: Final = 1
UNICODE_NAME: Final = 0x7075
MAX_DESCRIPTOR: Final = 24
LARGE: Final = 0xFFFFFFFF
MANY: Final = 0xFFFF
SIZE64: Final = 44
"""Bytes of a ZIP64 record after the field that states them."""
MAX_COMMENT: Final = 0xFFFF
STEP: Final = 1 << 20

_LOCAL = struct.Struct("<4s5H3I2H")
_END = struct.Struct("<4s4H2IH")
_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQ2H2I4Q")


def check_zip(archive: ZipArchive, findings: Findings) -> None:
    """Compare what is said of each member, and find bytes that no member has."""
    _check_end(archive, findings)
    position = 0
    for name, info in archive.members.items():
        if gap := info.header_offset - position:
            findings.add("W23", name, f"{counted(gap, 'byte')} before this member belong to no member")
        try:
            position = _check_local(archive, info, findings)
        except FormatError as error:
            findings.add("W02", name, error.message)
            position = archive.end_of(info)
        if info.comment:
            findings.add("W23", name, "has a comment in the directory")
        if info.is_dir() and info.compress_size:
            findings.add("W02", name, "is a folder, and has bytes")
    if gap := archive.directory - position:
        findings.add("W23", "", f"{counted(gap, 'byte')} before the directory belong to no member")
    folded: dict[str, str] = {}
    for name in archive.members:
        if (other := folded.setdefault(name.casefold(), name)) != name:
            findings.add("W23", name, f"differs from {shown(other)} in case only, so some systems unpack one")


def _check_end(archive: ZipArchive, findings: Findings) -> None:
    """Compare the end of the archive with its directory."""
    size = archive.source.size or 0
    begin = max(size - _END.size - MAX_COMMENT, 0)
    tail = archive.source.read(begin, size)
    at = len(tail) - _END.size
    if not (tail.startswith(b"PK\5\6", at) and tail.endswith(b"\0\0")):
        at = tail.rfind(b"PK\5\6")
    if not 0 <= at <= len(tail) - _END.size:
        findings.add("W02", "", "the record at the end of the directory is not where readers look for it")
        return
    _, disk, first, here, count, length, offset, comment = _END.unpack_from(tail, at)
    after = len(tail) - at - _END.size
    if after != comment:
        findings.add("W02", "", f"has {after} bytes after its end, and states a comment of {comment}")
    elif after:
        findings.add("W23", "", "has a comment after its directory")
    stated = [disk, first, here, count, length, offset]
    stop = begin + at
    if at >= _LOCATOR.size and tail.startswith(b"PK\6\7", at - _LOCATOR.size):
        stop -= _LOCATOR.size + _END64.size
        stated = _large_ones(archive, stop, stated, findings)
    right = [0, 0, len(archive.members), len(archive.members), stop - archive.directory, archive.directory]
    names = ("disk", "first disk", "number of members here", "number of members", "size", "offset")
    for name, given, found in zip(names, stated, right, strict=True):
        if given != found:
            findings.add("W02", "", f"states {given} as {name} of its directory, which is {found}")


def _large_ones(archive: ZipArchive, begin: int, stated: list[int], findings: Findings) -> list[int]:
    """Return what a ZIP64 record states, which must agree with its locator and with the record after it."""
    data = archive.source.read(begin, begin + _END64.size + _LOCATOR.size)
    _, disk, place, disks = _LOCATOR.unpack_from(data, _END64.size)
    if place != begin or disk or disks != 1 or not data.startswith(b"PK\6\6" + struct.pack("<Q", SIZE64)):
        findings.add("W02", "", "the ZIP64 record is not where its locator says, or not of 56 bytes")
    large_ones = _END64.unpack_from(data)[4:]
    for small, large, mark in zip(stated, large_ones, (MANY,) * 4 + (LARGE,) * 2, strict=True):
        if small not in (large, mark):
            findings.add("W02", "", f"states {small} at its end, and {large} in its ZIP64 record")
    return [*large_ones]


def _check_local(archive: ZipArchive, info: ZipInfo, findings: Findings) -> int:
    """Compare a local header, and the descriptor after the data; return where the member ends."""
    begin, source = info.header_offset, archive.source
    header = source.read(begin, begin + _LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(b"PK\3\4"):
        raise FormatError(f"has no local header at {begin}")
    _, _, flags, method, time, date, crc, packed, size, name_size, extra_size = _LOCAL.unpack(header)
    start = archive.start_of(info)
    rest = source.read(begin + _LOCAL.size, begin + _LOCAL.size + name_size + extra_size)
    if start != begin + _LOCAL.size + name_size + extra_size:
        raise FormatError("its local header has another length than the directory leaves room for")
    name = rest[:name_size].decode("utf-8" if flags & UTF8 else "cp437", "replace")
    year, month, day, hour, minute, second = info.date_time
    is_streamed = bool(flags & DESCRIPTOR)
    local = _fields(rest[name_size:])
    wide = local.get(ZIP64_FIELD, b"")
    if len(wide) >= 16 and LARGE in (packed, size):
        size, packed = struct.unpack_from("<2Q", wide)
    for what, given, found in (
        ("name", name, info.orig_filename),
        ("flags", flags & (ENCRYPTED | DESCRIPTOR | UTF8), info.flag_bits & (ENCRYPTED | DESCRIPTOR | UTF8)),
        ("compression method", method, info.compress_type),
        ("CRC-32", crc, info.CRC),
        ("compressed size", packed, info.compress_size),
        ("size", size, info.file_size),
    ):
        is_later = is_streamed and given == 0 and what in ("CRC-32", "compressed size", "size")
        if given != found and not is_later:
            text = f"the local header has the {what} {shown(given)}, and the directory {shown(found)}"
            findings.add("W02", info.filename, text)
    if (date, time) != (year - 1980 << 9 | month << 5 | day, hour << 11 | minute << 5 | second // 2):
        findings.add("W20", info.filename, "has another date in its local header than in the directory")
    if extra_size and not info.extra and not info.compress_type:
        findings.add("W20", info.filename, "has fields in its local header that the directory does not have")
    for field in (local.get(UNICODE_NAME), _fields(info.extra).get(UNICODE_NAME)):
        if field is not None and field[5:] != info.orig_filename.encode("utf-8", "replace"):
            findings.add("W02", info.filename, f"has another name in an extra field: {shown(field[5:])}")
    return (
        _end_of_member(archive, info, start + info.compress_size)
        if is_streamed
        else start + info.compress_size
    )


def _end_of_member(archive: ZipArchive, info: ZipInfo, end: int) -> int:
    """Return where the data descriptor ends that begins where the data end."""
    found = archive.source.read(end, min(end + MAX_DESCRIPTOR, archive.end_of(info)))
    numbers = info.CRC, info.compress_size, info.file_size
    forms = ["<I2Q"] if max(numbers) > LARGE else ["<3I", "<I2Q"]
    for descriptor in (mark + struct.pack(form, *numbers) for form in forms for mark in (b"PK\7\x08", b"")):
        if found.startswith(descriptor):
            return end + len(descriptor)
    raise FormatError("the data descriptor after it is missing, or not as in the directory")


def _fields(extra: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    position = 0
    while position + 4 <= len(extra):
        number, size = struct.unpack_from("<2H", extra, position)
        found[number] = extra[position + 4 : position + 4 + size]
        position += 4 + size
    return found


def content_of(archive: ZipArchive, info: ZipInfo) -> Iterator[bytes]:
    """Yield the bytes of a member, decompressed once and not beyond the size that the directory states.

    Raises:
        FormatError: It is not as long as that, or other bytes follow its compressed ones.
    """
    archive.check_method(info)
    start = archive.start_of(info)
    stored = pieces_of(archive.source, start, start + info.compress_size)
    if info.compress_type != ZIP_DEFLATED:
        yield from stored
        return
    decoder = zlib.decompressobj(-zlib.MAX_WBITS)
    size = 0
    for piece in stored:
        data = piece
        while not decoder.eof:
            try:
                found = decoder.decompress(data, STEP)
            except zlib.error as error:
                raise FormatError(f"cannot be decompressed: {error}") from error
            data = decoder.unconsumed_tail
            size += len(found)
            if size > info.file_size:
                raise FormatError(f"has more than the {info.file_size} bytes that the directory says")
            check_ratio(size, info.compress_size)
            if not found and not data:
                break
            yield found
        if decoder.eof:
            break
    if size < info.file_size or not decoder.eof:
        raise FormatError("has fewer bytes than the directory says")
    if decoder.unused_data or next(stored, b""):
        raise FormatError("has bytes after its compressed data")
