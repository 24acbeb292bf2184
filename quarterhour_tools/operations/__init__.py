"""Operations: the commands for a deployed stack."""
