"""What finance decides for the whole marketplace: one versioned document."""
