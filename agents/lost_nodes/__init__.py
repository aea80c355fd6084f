"""What runs on nodes that are lost, leave or are faulty: ended where that is safe, moved where that helps."""
