"""Records how many GPU-seconds the jobs of each queue have held, by month and flavor."""
