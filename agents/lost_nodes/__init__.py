"""What runs on a node that is lost: ended where that is safe, replaced where that helps."""
