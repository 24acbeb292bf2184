"""Operations: commands for a deployed stack."""
