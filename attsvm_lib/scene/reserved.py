"""Names that a parameter of a scene cannot have, because the widget and the figure use them."""

from __future__ import annotations

import keyword
from typing import Any

# arguments and traits of `attsvm_lib.explore.Explorable` and of `attsvm_lib.figures.draw`
OWN = frozenset("budget frame progress ranges scene self size width".split())

# public attributes of anywidget.AnyWidget, by name, so that declaring a scene imports no widget package
WIDGET = frozenset(
    """
    add_class add_traits blur class_own_trait_events class_own_traits class_trait_names class_traits close close_all
    comm cross_validation_lock focus get_manager_state get_state get_view_spec handle_comm_opened
    handle_control_comm_opened
    has_trait hold_sync hold_trait_notifications keys layout log model_id notify_change observe on_msg on_trait_change
    on_widget_constructed open remove_class send send_state set_state set_trait setup_instance tabbable tooltip
    trait_defaults trait_events trait_has_value trait_metadata trait_names trait_values traits unobserve unobserve_all
    widget_types widgets
    """.split()
)


def parameter_name(name: Any) -> str:
    """``name`` when a parameter can be called so; ValueError otherwise."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise ValueError(f"a parameter's name must be a Python name without leading underscore, got {name!r}")
    if name in OWN | WIDGET:
        raise ValueError(f"a parameter cannot be called {name!r}: widgets and figures use that name")
    return name
