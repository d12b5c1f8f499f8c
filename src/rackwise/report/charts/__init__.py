"""Charts as plain plotly figures: lists and dicts, drawn by plotly in the reader's browser.

Goals, in order: every bar has a name and a number, so that colour is never the only sign; a name of
249 characters or with markup affects only its own label; the same chart is readable at 360 px and
at 1280 px.

In a list of bars, the name is above its bar and the number is at the right end of the same line.
A name beside its bar would leave no room for the bar on a telephone:

```
orders                    1.20 TiB
████████████████████████████████
payments                  0.31 TiB
████████
0        0.5       1.0        1.5
        crossing bytes, TiB
```

Colours are custom properties of the stylesheet, for example `var(--accent)`. The script of the page
replaces each one with the colour of the reader's colour scheme. Plotly interprets a small markup
language in every text, so the characters `<`, `>` and `&` in a name are written as entities.

Modules: `figure` has what all charts share, `lists` the lists of bars, `over_days` the charts over
days, `rack_losses` the chart of rack losses.
"""

from rackwise.report.charts.figure import Figure, entities, label
from rackwise.report.charts.lists import (
    SEVERITY_SIGNS,
    Bar,
    Measure,
    bars,
    measure,
    rules,
    top_bars,
)
from rackwise.report.charts.over_days import days, history
from rackwise.report.charts.rack_losses import losses

__all__ = [
    "SEVERITY_SIGNS",
    "Bar",
    "Figure",
    "Measure",
    "bars",
    "days",
    "entities",
    "history",
    "label",
    "losses",
    "measure",
    "rules",
    "top_bars",
]
