"""First-party toolsets, written against the public interface as anybody's would be."""
