"""Reports: every final quarter-hour is sealed in S3, with a manifest that proves it complete."""
