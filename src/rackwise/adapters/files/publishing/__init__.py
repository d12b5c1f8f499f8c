"""Publishes a result folder atomically.

Goals, in order: a reader of the folder always finds one complete result; a killed run leaves the
published result as it was; a published result is on the disk; files that Rackwise did not write are
not touched.

The files of a run are written into its own folder and synced. Then one rename of the link `current`
publishes them. The names at the top are links through `current`, created once:

```
DIR/report.html   -> current/report.html        DIR/runs/5f0c9a7d21be/report.html
DIR/summary.json  -> current/summary.json                            /summary.json
DIR/csv           -> current/csv                                     /csv/by_topic.csv
DIR/manifest.json -> current/manifest.json                           /manifest.json
DIR/current       -> runs/5f0c9a7d21be          <- the one rename
```

The same input gives the same run id. If the folder of that id exists, the run uses `ID-2`, `ID-3`,
so that the published folder is never written to. After the rename, unreachable files are removed:
other runs, and tables in DIR of runs that no day names. Publishers hold a lock on DIR, which the
system releases with the process.

The manifest names the run, its tables and each file with its SHA-256. It also names, for each day
of each cluster, the tables of the run that computed it. A run that continues a result reads these
days first and publishes them with its own. If another run has published meanwhile, the publication
is rejected, because it would lose the days of the other run:

```
days   prod 2026-11-01   tables/runs/81c0f2aa9e07        an earlier run
       prod 2026-11-02   tables/runs/5f0c9a7d21be        this run
```

What this does not do: write the tables (see the pipeline); follow a DIR on an object store.

Modules: `manifest` is the document, `read` reads a result, `publish` writes one.
"""

from rackwise.adapters.files.publishing.manifest import PublishedDay
from rackwise.adapters.files.publishing.publish import Disk, free_run, locked, publish
from rackwise.adapters.files.publishing.read import (
    Published,
    ResultDays,
    check_out,
    known_tables,
    read_days,
    read_published,
)

__all__ = [
    "Disk",
    "Published",
    "PublishedDay",
    "ResultDays",
    "check_out",
    "free_run",
    "known_tables",
    "locked",
    "publish",
    "read_days",
    "read_published",
]
