"""Real processes, killed at random moments, again and again: nothing acknowledged is lost, nothing is half applied."""
