"""What scales model servers and scorers."""
