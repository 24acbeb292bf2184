"""What an account owes now, and what its next statements would be."""
