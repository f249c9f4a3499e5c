"""Random numbers and shuffles that are pure functions of (seed, epoch), on every machine."""

import hashlib

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

ROUNDS = 4  # of a Feistel network: three make a pseudo-random permutation; a fourth is cheap


def stable_hash(*words: object) -> int:
    """63 bits that depend on all words, the same on every machine.

    >>> stable_hash("order", 1, 0) == stable_hash("order", 1, 0) != stable_hash("order", 1, 1)
    True
    """
    key = "\x1f".join(map(str, words)).encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little") >> 1


def random_generator(*words: object) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=stable_hash(*words)))


def shuffled_positions(positions: Integer[ndarray, " n"], size: int, *words: object) -> Integer[ndarray, " n"]:
    """Where a shuffle of 0 .. size − 1, seeded by the words, moves these positions; no others are computed.

    A Feistel network over 2k bits permutes 0 .. 2^(2k) − 1. Applied again to values of at least `size` until they are
    smaller, it permutes 0 .. size − 1.

    >>> sorted(shuffled_positions(np.arange(10), 10, "seed", 1).tolist()) == list(range(10))
    True
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    mask = np.uint64((1 << half) - 1)
    keys = [np.uint64(stable_hash(*words, k)) for k in range(ROUNDS)]
    values = np.asarray(positions, dtype=np.uint64)
    outside = np.ones(values.shape, dtype=bool)
    while outside.any():
        left, right = values[outside] >> np.uint64(half), values[outside] & mask
        for key in keys:
            left, right = right, left ^ (splitmix64(right ^ key) & mask)
        values[outside] = (left << np.uint64(half)) | right
        outside &= values >= size
    return values.astype(np.int64)


def splitmix64(values: Integer[ndarray, " n"]) -> Integer[ndarray, " n"]:
    """The mixing function of SplitMix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: Integer[ndarray, " n"] = values ^ (values >> np.uint64(31))
        return mixed
