"""Reports: every closed quarter-hour sealed in S3, with a manifest that proves it complete."""
