"""What node groups cost per hour at their minimum, on average and at their maximum, and per month."""

from components.base.price import Usd
from components.cost.estimate import EXPECTED, HOURS_PER_MONTH, MAX, MIN, MONTH, Estimate
from components.node_groups.shape import Shape


def of(shape: Shape) -> Estimate:
    """The estimate of one node group. What it costs on average is unknown without `expected`, except if its size is
    fixed."""
    args, each = shape.args, shape.hourly_usd
    on_average = args.expected if args.expected is not None else args.min if args.min == args.max else None
    counts = {
        MIN: args.min,
        EXPECTED: on_average,
        MAX: args.max,
        MONTH: None if on_average is None else on_average * HOURS_PER_MONTH,
    }
    figures = {
        name: None if each is None or count is None else Usd(each, each) * count for name, count in counts.items()
    }
    undeclared = "the average number of nodes is not declared; set nodeGroups.*.expected" if on_average is None else ""
    return Estimate("group", shape.name, figures, shape.price_missing or undeclared, shape.price_date)
