"""The order of samples: a pure function of (seed, epoch), so that a run can go on from any step, with any machine."""

import hashlib

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

ROUNDS = 4  # of a Feistel network: three make a pseudo-random permutation, one more costs little


def stable_hash(*words: object) -> int:
    """63 bits that depend on all words, the same on every machine.

    >>> stable_hash("order", 1, 0) == stable_hash("order", 1, 0) != stable_hash("order", 1, 1)
    True
    """
    told = "\x1f".join(str(word) for word in words).encode()
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "little") >> 1


def random_generator(*words: object) -> np.random.Generator:
    """Random numbers that depend on all words and nothing else."""
    return np.random.Generator(np.random.Philox(key=stable_hash(*words)))


def shuffled_positions(locations: Integer[ndarray, " n"], size: int, *words: object) -> Integer[ndarray, " n"]:
    """Where these locations of 0 .. size − 1 go in a shuffle of all of them, without making the whole shuffle.

    A Feistel network over enough bits is a permutation of 0 .. 2^(2k) − 1; walking on from values past the end until
    one lies before it makes it one of 0 .. size − 1.

    >>> sorted(shuffled_positions(np.arange(10), 10, "seed", 1).tolist()) == list(range(10))
    True
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    mask = np.uint64((1 << half) - 1)
    keys = [np.uint64(stable_hash(*words, k)) for k in range(ROUNDS)]
    values = np.asarray(locations, dtype=np.uint64)
    outside = np.ones(values.shape, dtype=bool)
    while outside.any():
        left, right = values[outside] >> np.uint64(half), values[outside] & mask
        for key in keys:
            left, right = right, left ^ (scrambled(right ^ key) & mask)
        values[outside] = (left << np.uint64(half)) | right
        outside &= values >= size
    return values.astype(np.int64)


def scrambled(values: Integer[ndarray, " n"]) -> Integer[ndarray, " n"]:
    """The mixing of SplitMix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: Integer[ndarray, " n"] = values ^ (values >> np.uint64(31))
        return mixed
