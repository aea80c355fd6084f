"""How a model server moves to a new version of its model: a canary first, whose gates decide."""
