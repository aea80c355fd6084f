"""What runs inside training containers, ours and public ones: it needs the standard library and TensorFlow, no more."""
