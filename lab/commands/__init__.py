"""What ``python3 -m lab COMMAND`` does, one module for each command."""
