"""What every stage of the generator may use, and what knows no stage."""
