"""What is wrong with the settings of workloads: a file for each part of them, or for each rule between several."""
