"""A small page with explorables as a built chapter carries them: the same loader, the same two kinds of
script tag.
"""

import json
from pathlib import Path

from ipywidgets.embed import embed_data

LOADER = Path(__file__).parents[1] / "_assets" / "widgets" / "anywidget-static.js"
STATE = '<script type="application/vnd.jupyter.widget-state+json">{}</script>'
VIEW = '<script type="application/vnd.jupyter.widget-view+json">{}</script>'


def page(*widgets, theme: str = "light") -> str:
    """HTML that shows ``widgets``, each occurrence as its own view."""
    data = embed_data(views=list(dict.fromkeys(widgets)), drop_defaults=False)
    safe = json.dumps(data["manager_state"]).replace("</", "<\\/")
    views = [
        VIEW.format(json.dumps({"model_id": w.model_id, "version_major": 2, "version_minor": 0}))
        for w in widgets
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Explorables</title>'
        '<link rel="icon" href="data:,">'
        "<style>body{margin:0 auto;max-width:800px;padding:8px;font-family:sans-serif}"
        "html[data-theme=dark]{background:#14181e;color:#ced6dd}</style>"
        f"<script async>{LOADER.read_text(encoding='utf-8')}</script>"
    )
    body = "\n".join(f"<div>{v}</div>" for v in views) + STATE.format(safe)
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><head>{head}</head><body>{body}</body></html>'
    )
