"""The budgets of teams, and what the cluster has recorded of their use this month."""

from components.base import agent_facts, recorded_usage
from components.queues import team
from stack.resolved import ResolvedStack


def of(resolved: ResolvedStack) -> dict[str, agent_facts.TeamBudget]:
    """By team. Use is None where the cluster was not asked, or did not answer."""
    config, used = resolved.config, recorded_usage.read()
    found = {}
    for name, args in config.teams.items():
        if args.budget is None:
            continue
        offered = team.gpus_at_most(config.queues, resolved.quotas, name)
        found[name] = agent_facts.TeamBudget(
            gpuHours=args.budget.gpu_hours,
            used=used.gpu_hours.get(name, 0.0) if used else None,
            month=used.month if used else "",
            gpus=offered if args.gpus is None else args.gpus,
        )
    return found
