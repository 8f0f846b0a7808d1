"""The loss of a head: what a row pairs, what each guess is compared with, and what noise may move.

The oracle runs `networks.slow_head` on one chain at a time, the way drafting will. That the steps of
training are such chains is checked in `test_head.py`.
"""

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import CONFIG, random_head, random_target, slow_head, slow_target, weights
from strategies import fewer

from eagle_min.train.head import Recipe, head_loss
from eagle_min.train.teacher import teach

TOLERANCE = 1e-9

tokens = st.integers(0, CONFIG.vocab_size - 1)
windows = st.lists(st.lists(tokens, min_size=7, max_size=7), min_size=1, max_size=2)
seeds = st.integers(0, 2)


def slow_chain(seed: int, text: list[int], place: int, num_steps: int, noise: np.ndarray) -> list[np.ndarray]:
    """The guesses (D,) of a chain that leaves the true text after row `place`, one a step. `noise`
    (rows, D) is added to the true features."""
    embed = weights(random_target(seed))["embed.weight"]
    features = slow_target(random_target(seed), text)[0][: place + 1] + noise[: place + 1]
    chain = []
    for step in range(num_steps):
        following = text[1 : place + step + 2]
        chain.append(slow_head(random_head(seed), features, embed[following])[-1])
        features = np.concatenate([features, chain[-1][None]])
    return chain


def slow_noise(seed: int, texts: list[list[int]], recipe: Recipe, number: int) -> np.ndarray:
    """(texts, rows, D): uniform between -1 and 1, times a share of the features' root mean square."""
    num_rows = len(texts[0]) - recipe.num_steps
    true = np.stack([slow_target(random_target(seed), text)[0][:num_rows] for text in texts])
    drawn = torch.rand(true.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(number)).numpy()
    return recipe.noise * math.sqrt((true**2).mean()) * (2 * drawn - 1)


def slow_loss(seed: int, texts: list[list[int]], recipe: Recipe, number: int = 0) -> float:
    """The recipe from its definition: a mean over rows a step, steps weighted by the decay."""
    lm_head = weights(random_target(seed))["lm_head.weight"]
    total, num_rows = 0.0, len(texts[0]) - recipe.num_steps
    for text, noise in zip(texts, slow_noise(seed, texts, recipe, number)):
        features, logits = slow_target(random_target(seed), text)
        for place in range(num_rows):
            for step, guess in enumerate(slow_chain(seed, text, place, recipe.num_steps, noise)):
                wanted = np.exp(logits[place + step + 1] - logits[place + step + 1].max())
                own = guess @ lm_head.T
                token_loss = math.log(np.exp(own).sum()) - own @ wanted / wanted.sum()
                error = np.abs(guess - features[place + step + 1])
                feature_loss = np.where(error < 1, error**2 / 2, error - 0.5).mean()
                row_loss = recipe.token_weight * token_loss + recipe.feature_weight * feature_loss
                total += recipe.step_decay**step * row_loss / (len(texts) * num_rows)
    return total


@fewer(2)
@given(seeds, windows, st.integers(1, 3), st.sampled_from([(1.0, 0.1), (0.1, 1.0)]))
def test_the_loss_compares_each_guess_with_the_next_feature_and_its_law(seed, texts, num_steps, shares):
    recipe = Recipe(*shares, num_steps=num_steps, noise=0.0)
    loss = head_loss(
        random_target(seed), random_head(seed), recipe, teach(random_target(seed), torch.tensor(texts)), seed
    )
    assert abs(float(loss) - slow_loss(seed, texts, recipe)) < TOLERANCE


@given(seeds, windows)
def test_noise_moves_the_given_features_only_and_is_drawn_from_the_seed(seed, texts):
    target, head = random_target(seed), random_head(seed)
    taught = teach(target, torch.tensor(texts))
    quiet, noisy = (Recipe(1.0, 1.0, num_steps=2, noise=noise) for noise in (0.0, 0.5))
    first, again, other = (float(head_loss(target, head, noisy, taught, number)) for number in (1, 1, 2))
    assert first == again and first != other
    assert first != float(head_loss(target, head, quiet, taught, 1))
    assert abs(first - slow_loss(seed, texts, noisy, 1)) < TOLERANCE
