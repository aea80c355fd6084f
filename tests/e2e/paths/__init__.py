"""One path for each thing that users do: on one stack, in any order, with names of each test's own."""
