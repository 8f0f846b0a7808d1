"""How much of a draft a rule of verification accepts: further rules, faults, closed forms, bounds."""
