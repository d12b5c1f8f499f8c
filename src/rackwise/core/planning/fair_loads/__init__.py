"""Fair loads: how many replicas and leaders each broker and rack should have."""
