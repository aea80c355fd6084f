from tensorplane import stack

stack.deploy()
