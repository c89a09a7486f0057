"""What says whether a reply answers, partly answers or refuses."""
