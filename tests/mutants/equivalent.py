"""Mutants that nothing can notice, each with the reason why; see `../score.py`.

A row that is killed after all is a mistake, and the score says so.
"""

FILTERING = "sampling | if sampling.temperature > 0 and (sampling.top_k is not None or sampling.top_p < 1): | "

EQUIVALENT = {
    FILTERING + "> to >= | 1": "at temperature 0 one token has all weight and comes first: both filters keep it and "
    "set to zero what is zero",
    FILTERING + "and to or | 1": "with neither top_k nor top_p the filter keeps every token, and at temperature 0 the "
    "one that has all weight",
    FILTERING + "< to <= | 1": "with top_p 1 and no top_k the filter keeps every token",
    "sampling | integer = round(power) >= 1 and abs(power - round(power)) < 1e-9 | < to <= | 1": "the power is a float "
    "of at least 1/2, so its distance to an integer is a multiple of 2**-53, and the float 1e-9 is none",
}
