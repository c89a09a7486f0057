"""What people said in a study, with judges beside them."""
