"""The budgets of teams, and what the cluster has recorded of their use this month."""

from tensorplane.components.base import outputs, recorded_usage
from tensorplane.components.teams import team as teams_team
from tensorplane.stack.resolved import ResolvedStack


def of(resolved: ResolvedStack) -> dict[str, outputs.TeamBudget]:
    """By team. Use is None where the cluster was not asked, or did not answer."""
    config, used = resolved.config, recorded_usage.read()
    found = {}
    for name, args in config.teams.items():
        if args.budget is None:
            continue
        offered = teams_team.gpus_at_most(config.queues, resolved.quotas, name)
        found[name] = outputs.TeamBudget(
            gpuHours=args.budget.gpu_hours,
            used=used.gpu_hours.get(name, 0.0) if used else None,
            month=used.month if used else "",
            gpus=offered if args.gpus is None else args.gpus,
        )
    return found
