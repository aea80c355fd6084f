"""Creates and changes the topics of the embedded broker as the settings declare them.

A Job runs it in the training image, which has Kafka's client. It compares the broker's topics with the declared ones.
It creates topics, adds partitions and changes configurations; it deletes nothing. A crash leaves some topics unchanged,
and the Job's retry changes the rest.
"""
