"""What runs inside the sandbox: standard library and host-mapped packages only."""
