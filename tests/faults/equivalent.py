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
    "grow | best = np.partition(rows, -k, axis=1)[:, -k:] | -k: to : | 1": "the first column is then the smallest "
    "of a row: all its tokens reach the threshold, are sorted, and only k of them are kept",
    "grow | pairs = top_children(expand(sapling.tokens, sapling.parents, level), 4) | 4 to 5 | 1": "no node is "
    "given more than 4 children, so the fifth best token is never looked at",
    "grow | width = 1 if gap > sure else 2 if gap > sure * 2 / 3 else 3 if gap > sure / 3 else 4 | 4 to 5 | 1": "there "
    "are only the 4 best tokens to choose children from",
    "dice | lowest, total = weights.min(initial=0), weights.sum() | 0 to 1 | 1": "only the sign of the lowest "
    "weight is looked at, and 1 has that of 0 and of every weight that is allowed",
    "exactness.law | probabilities = values if total == 1 else [value / total for value in values] | 1 to 0 | 1": ""
    "what is divided by 1 stays as it is, so dividing always is only slower; a total of 0 was refused before",
}
