"""Changes of what a judge is shown: attacks, defences, perturbations, and the arms made of them."""
