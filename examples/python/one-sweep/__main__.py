"""A sweep over learning rates, with an image that another resource names."""

import pulumi

import tensorplane.pulumi as tp

image = pulumi.Output.concat("registry.example.org/", pulumi.get_stack(), "/train:1")  # or of a resource: registry.url
platform = tp.Stack(f"sweeps-{pulumi.get_stack()}", tp.settings("tensorplane.yaml"))

sweep = tp.Sweep(
    "rates",
    platform=platform,
    controller_image="registry.example.org/sweeps:1",  # tensorplane image build --push … optuna==5.0.0
    search={"parameters": {"RATE": {"low": 1e-4, "high": 1e-1, "log": True}}, "trials": 12, "parallel": 3},
    trial={
        "strategy": {"kind": "single"},
        "script": "train.py",
        "image": image,
        "volumes": {"models": "/models"},
        "checkpoints": {"volume": "models"},
        "queue": "research",
    },
)
pulumi.export("run", sweep.outputs["run"])
