"""What settings of a cloud's backends have in common: names, keys, regions, schedules."""
