"""Topics of the embedded broker. It runs in the training image, which has Kafka's client."""
