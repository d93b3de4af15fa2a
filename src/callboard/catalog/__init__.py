"""All tools and their owners, and the numbered snapshots that calls are made against."""

from callboard.catalog.catalog import Catalog, Snapshot
from callboard.catalog.toolset import Toolset

__all__ = ["Catalog", "Snapshot", "Toolset"]
