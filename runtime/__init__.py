"""What runs inside training containers, ours and public ones; it needs TensorFlow, and for streams Kafka's client."""
