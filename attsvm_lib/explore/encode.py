r"""A scene's whole grid as a few bytes: 16-bit numbers over fixed ranges, differences, then deflate.

Each channel of each mark (its x, its y, ...) is an array (grid points, frames, items), stored once where all
grid points agree. A coordinate v becomes the integer :math:`\mathrm{round}(65534 (v-lo)/(hi-lo))`, 65535
when absent; lo and hi cover the axis and the data. Differences modulo :math:`2^{16}` along up to two axes,
the two that pack best, and low bytes before high bytes make it compressible. `decode` is the exact inverse
the viewer implements.
"""

from __future__ import annotations

import itertools
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from attsvm_lib.progress import with_progress
from attsvm_lib.scene.coordinates import Ranges
from attsvm_lib.scene.function import Scene, SceneFunction
from attsvm_lib.scene.parameters import Drag, Pick

ABSENT = 65535
STEPS = 65534
BUDGET = 300_000  # characters of base64 in the page
ACCURACY = 1e-4  # largest error allowed, as a share of the axis range


@dataclass(frozen=True)
class Encoded:
    """``data``: deflated bytes. ``channels``: mark -> channel -> how to read it. ``text``: its [begin, end)
    bytes.
    """

    data: bytes
    channels: dict[str, dict[str, dict[str, Any]]]
    text: tuple[int, int]
    ranges: Ranges
    sample: Scene

    @property
    def size(self) -> int:
        """Characters of base64 it takes in a page."""
        return base64_size(len(self.data))


def base64_size(count: int) -> int:
    """Length of ``count`` bytes in base64."""
    return 4 * -(-count // 3)


def encode(function: SceneFunction, *, budget: int = BUDGET, progress: bool | None = None) -> Encoded:
    """Evaluate the grid of ``function`` and pack it. ValueError when it takes more than ``budget``
    characters.
    """
    ranges, stacks, texts, messages = Ranges(function), {}, [], []
    for _, scene in with_progress(function.over_grid(), int(np.prod(function.shape)), function.name, progress):
        for name, channels in ranges.add(scene).items():
            for channel, array in channels.items():
                stacks.setdefault((name, channel), []).append(array)
        texts.append([r.texts() for r in scene.readouts.values()])
        messages.append(scene.message or "")
    blocks, layout, weights, offset = [], {}, {}, 0
    for name, channel in stacks:
        limits = _limits(function, ranges, scene, name, channel)
        block, how = _pack(_stack(stacks[name, channel]), limits, _grid_shape(function), f"{name!r} ({channel})")
        layout.setdefault(name, {})[channel] = how | {"at": offset}
        weights[f"mark {name!r}"] = weights.get(f"mark {name!r}", 0) + len(zlib.compress(block, 9))
        blocks.append(block)
        offset += len(block)
    text = _text(texts, messages)
    weights["readouts and messages"] = len(zlib.compress(text, 9))
    data = zlib.compress(b"".join([*blocks, text]), 9)
    _check_budget(function, base64_size(len(data)), budget, weights)
    return Encoded(data, layout, (offset, offset + len(text)), ranges, scene)


def _grid_shape(function: SceneFunction) -> list[int]:
    """Grid axes; a point of two coordinates counts as two axes."""
    out: list[int] = []
    for p in function.parameters.values():
        out += [len(p.x), len(p.y)] if isinstance(p, Drag) else [*p.shape] if isinstance(p, Pick) else [len(p.grid)]
    return out


def _stack(arrays: list[np.ndarray]) -> np.ndarray:
    """(grid points or 1, frames, items)."""
    out = np.stack(arrays)
    return out[:1] if np.array_equal(out, np.broadcast_to(out[:1], out.shape), equal_nan=True) else out


def _limits(function: SceneFunction, ranges: Ranges, scene: Scene, name: str, channel: str) -> tuple[float, float]:
    mark = scene.marks[name]
    if channel == "v":
        return ranges.color(name, mark)
    return ranges.axis(mark.panel or next(iter(function.panels)), channel[0])


def _pack(values: np.ndarray, limits: tuple[float, float], grid: list[int], what: str) -> tuple[bytes, dict]:
    """One channel as bytes, and how to read them."""
    low, high = sorted(limits)
    with np.errstate(all="ignore"):
        present = values[np.isfinite(values)]
    lo = min(low, float(present.min())) if present.size else low
    hi = max(high, float(present.max())) if present.size else high
    if (hi - lo) / STEPS / 2 > ACCURACY / 2 * (high - low):
        raise ValueError(
            f"mark {what} runs from {lo:g} to {hi:g}, too far outside its axis from {low:g} to {high:g} "
            "to be stored exactly; cut it off or make it NaN (absent)"
        )
    q = np.where(np.isnan(values), ABSENT, np.rint((values - lo) * (STEPS / (hi - lo)))).astype(np.uint16)
    axes = _axes(q.shape, grid)
    best = min(
        (d for n in range(3) for d in itertools.combinations(axes, n)),
        key=lambda d: len(zlib.compress(_planes(_difference(q, d)), 1)),
    )
    how = {"lo": lo, "hi": hi, "shape": list(q.shape), "deltas": [list(d) for d in best]}
    return _planes(_difference(q, best)), how


def _axes(shape: tuple[int, ...], grid: list[int]) -> list[tuple[int, int]]:
    """(stride, length) of each axis along which neighbors may be alike: items, frames and the last grid
    axes.
    """
    lengths = [shape[2], shape[1]] + ([n for n in reversed(grid)][:3] if shape[0] > 1 else [])
    out, stride = [], 1
    for n in lengths:
        if n > 1:
            out.append((stride, n))
        stride *= n
    return out


def _difference(q: np.ndarray, deltas: tuple) -> np.ndarray:
    """Flat copy of ``q``, each entry minus its predecessor along each axis (modulo 2**16)."""
    flat = q.ravel().copy()
    for stride, length in deltas:
        a = flat.reshape(-1, length, stride)
        a[:, 1:] -= a[:, :-1].copy()
    return flat


def _planes(flat: np.ndarray) -> bytes:
    return (flat & 255).astype(np.uint8).tobytes() + (flat >> 8).astype(np.uint8).tobytes()


def _text(texts: list[list[tuple[str, ...]]], messages: list[str]) -> bytes:
    """Readouts as [readout][grid point * frames + frame]; messages as a list and one index a grid point."""
    unique = sorted(set(messages))
    readouts = [list(itertools.chain.from_iterable(per_point)) for per_point in zip(*texts, strict=True)]
    body = {"readouts": readouts, "messages": unique, "message": [unique.index(m) for m in messages]}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _check_budget(function: SceneFunction, size: int, budget: int, weights: dict[str, int]) -> None:
    if size > budget:
        largest = sorted(weights.items(), key=lambda kv: -kv[1])[:4]
        parts = ", ".join(f"{name} {base64_size(n) / 1000:.0f} kB" for name, n in largest)
        raise ValueError(
            f"{function.name} takes {size / 1000:.0f} kB in the page, the budget is {budget / 1000:.0f} "
            f"kB; a grid of {' x '.join(map(str, function.shape))} points. Largest: {parts}"
        )


def decode(encoded: Encoded, mark: str, channel: str) -> np.ndarray:
    """(grid points or 1, frames, items) in axis coordinates, NaN where absent: what the viewer draws."""
    how = encoded.channels[mark][channel]
    count = int(np.prod(how["shape"]))
    raw = np.frombuffer(zlib.decompress(encoded.data), np.uint8)[how["at"] : how["at"] + 2 * count]
    flat = raw[:count].astype(np.uint16) + (raw[count:].astype(np.uint16) << 8)
    for stride, length in reversed(how["deltas"]):
        flat = np.cumsum(flat.reshape(-1, length, stride), axis=1, dtype=np.uint16)
    q = flat.reshape(how["shape"])
    return np.where(q == ABSENT, np.nan, how["lo"] + q * ((how["hi"] - how["lo"]) / STEPS))


def decode_text(encoded: Encoded) -> dict[str, Any]:
    """The readouts' strings and the messages, as `_text` laid them out."""
    return json.loads(zlib.decompress(encoded.data)[slice(*encoded.text)])
