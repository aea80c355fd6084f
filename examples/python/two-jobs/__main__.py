"""Two training jobs with another rate each, and a server of the better one, on your own cluster."""

import pulumi

import tensorplane.pulumi as tp

platform = tp.Stack("ml", tp.settings("tensorplane.yaml"))
jobs = {
    rate: tp.TrainingJob(
        f"line-{name}",
        platform=platform,
        strategy=tp.MultiWorkerMirrored(workers=2),
        script="train.py",
        env={"RATE": rate},
        volumes={"models": "/models"},
        model=tp.Location(volume="models", path=f"line-{name}"),
        queue="research",
    )
    for name, rate in {"fast": "0.1", "slow": "0.01"}.items()
}
server = tp.ModelServer("line", platform=platform, model=tp.ServedModel(volume="models", path="line-fast"))
pulumi.export("server", server.outputs["service"])
