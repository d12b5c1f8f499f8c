"""Names of files and folders that Spark leaves out when it lists a path.

```
_a.log  .crc  _metadata  a._COPYING_       files: left out everywhere, also as a path
_temporary/  .git/  b._COPYING_/           folders: left out below a path; as a path, or as a
                                           match of a pattern, their files are listed
_k=v  _k=v/  _metadata/  _common_metadata_x/   listed
```

Spark keeps folders whose name begins with `_metadata` or `_common_metadata`, because Parquet has
files of these names; its data sources leave out the files themselves.

Source: Spark 4.2.1, `HadoopFSUtils.shouldFilterOutPathName`. The tests ask Spark.
"""

from __future__ import annotations

_LISTED_FOLDERS = ("_metadata", "_common_metadata")
"""Starts of names of folders that are listed."""


def is_left_out(name: str, *, is_folder: bool) -> bool:
    """Whether Spark leaves out a file of this name, or a folder of it below a path.

    >>> is_left_out("_metadata", is_folder=True), is_left_out("_metadata", is_folder=False)
    (False, True)
    """
    if is_folder and name.startswith(_LISTED_FOLDERS):
        return False
    is_hidden = name.startswith("_") and "=" not in name
    return is_hidden or name.startswith(".") or name.endswith("._COPYING_")
