"""Speed, measured as ratios within one run. The product imports none of it."""
