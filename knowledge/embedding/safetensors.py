"""Reading safetensors: 8 bytes of header length, a JSON header, then raw little-endian values.

The package safetensors copies the values for numpy. For the table that is 16.5 MB in each process, and 0.2 MB here.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HEADER_LIMIT = 10_000_000
_TYPES = {"F16": "<f2", "F32": "<f4"}


def open_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Every tensor of the file, mapped into memory. Raises ValueError or OSError if the file is not valid."""
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            raise ValueError("the file is too short")
        (length,) = struct.unpack("<Q", start)
        if length > _HEADER_LIMIT:
            raise ValueError("the header is too long")
        header = json.loads(file.read(length))
    return {name: _mapped(path, tensor, 8 + length) for name, tensor in header.items() if name != "__metadata__"}


def _mapped(path: Path, tensor: dict[str, Any], start: int) -> NDArray[Any]:
    try:
        kind, shape, offset = _TYPES.get(tensor["dtype"]), tuple(tensor["shape"]), start + tensor["data_offsets"][0]
    except (TypeError, KeyError, IndexError) as error:
        raise ValueError("the header describes no tensors") from error
    if kind is None:
        return np.empty(0)  # a type that no embedder reads, such as the table of positions some models carry
    # Viewed as a plain array, since a memmap's own indexing is slow.
    return np.asarray(np.memmap(path, dtype=kind, mode="r", offset=offset, shape=shape))
