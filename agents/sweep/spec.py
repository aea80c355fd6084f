"""What stands in the template of the trials' JobSet for the values of one trial. It needs no Optuna."""

RUN = "tensorplane-sweep-trial"
"""Instead of the run's name."""
RUN_SUFFIX = "-t0000"
"""The form of what follows the sweep's run in a trial's name."""


def trial_run(sweep: str, number: int) -> str:
    """Name of a trial's JobSet. `sweep`: the sweep's run."""
    return f"{sweep}-t{number:04}"


def placeholder(parameter: str) -> str:
    """Instead of a parameter's value."""
    return f"<{parameter}>"
