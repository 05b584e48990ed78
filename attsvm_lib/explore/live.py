"""The kernel's side of an explorable: answers a viewer's requests for values that are not on the grid.

Messages (JSON, numbers as float64 buffers)::

    viewer  {kind: "hello"}                                    kernel  {kind: "alive"}
    viewer  {kind: "request", id, scene, parameters}           kernel  {kind: "scene", id, marks, readouts, message}
                                                                    or  {kind: "error", id, text[, module]}

`module` names a module that is missing: a host that can load it does so, and asks again.
The viewer keeps one request in flight. Any host that answers so (a kernel, a worker in the page) is as good.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attsvm_lib.scene.coordinates import coordinates
from attsvm_lib.scene.function import SceneFunction


def answer(function: SceneFunction, message: Any) -> tuple[dict[str, Any], list[bytes]] | None:
    """The reply to one message of a viewer and its buffers; None for a message of another kind.

    An error while computing becomes a reply of kind "error" with its text: one bad value must not end the
    session.
    """
    kind = message.get("kind") if isinstance(message, dict) else None
    if kind == "hello":
        return {"kind": "alive"}, []
    if kind != "request":
        return None
    try:
        if message.get("scene") != function.name:
            raise ValueError(f"scene must be {function.name!r} here, got {message.get('scene')!r}")
        reply, buffers = evaluate(function, message.get("parameters", {}))
    except Exception as error:
        reply = {"kind": "error", "id": message.get("id"), "text": f"{type(error).__name__}: {error}"}
        return reply | ({"module": error.name} if isinstance(error, ModuleNotFoundError) else {}), []
    return {"kind": "scene", "id": message.get("id"), **reply}, buffers


def evaluate(function: SceneFunction, parameters: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """One scene as JSON and buffers: marks as [[mark, channel, frames, items], ...], one float64 buffer
    each.
    """
    scene = function(**parameters)
    layout, buffers = [], []
    for name, mark in scene.marks.items():
        for channel, array in coordinates(function, name, mark).items():
            layout.append([name, channel, *array.shape])
            buffers.append(np.ascontiguousarray(array, "<f8").tobytes())
    return {
        "marks": layout,
        "readouts": [list(r.texts()) for r in scene.readouts.values()],
        "message": scene.message or "",
    }, buffers
