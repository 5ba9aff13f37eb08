"""Noise: values per second of our exact samplers, of OpenDP's and of diffprivlib's, on the same scales in one run.

python -m benchmarks noise

Everybody draws integers: two-sided geometric (discrete Laplace) and discrete normal noise. OpenDP draws a vector in one
call; diffprivlib draws one by one, in an environment of its own. Claimed: ten times as many as either.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction

from harness import Claims, UnmeasuredError, measured

SCALES = (1, 100, 10_000, 60 * 2**20)
LAWS = ("laplace", "gaussian")
LEAST = 10
ONE_BY_ONE = 2_000


def seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """The best of several runs, after one to warm up."""
    run()
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return min(times)


def rate_of_diffprivlib(law: str, scale: int) -> float:
    """Values a second."""
    from diffprivlib.mechanisms import GaussianDiscrete, Geometric  # pyright: ignore[reportMissingImports]

    if law == "laplace":
        mechanism = Geometric(epsilon=1 / scale, sensitivity=1)
    else:
        mechanism = GaussianDiscrete(epsilon=min(1, 1 / scale), delta=1e-6, sensitivity=1)  # it takes no scale

    def draw() -> None:
        for _ in range(ONE_BY_ONE):
            mechanism.randomise(0)

    return ONE_BY_ONE / seconds(draw, repeats=2)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=1_000_000)
    parser.add_argument("--theirs", type=int, default=100_000, help="values that OpenDP draws; its rate is constant")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        law, scale = options.measure.split()
        print(json.dumps(rate_of_diffprivlib(law, int(scale))))
        return 0

    from discreet.privacy.noise import discrete_gaussian, discrete_laplace

    # Its type stubs export nothing, so it is imported as any module.
    dp = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    domain, zeros = dp.vector_domain(dp.atom_domain(T="i64")), [0] * options.theirs
    claims = Claims()
    for scale in SCALES:
        for law in LAWS:
            if law == "laplace":
                ours = seconds(lambda s=scale: discrete_laplace(options.values, Fraction(s)))
                peer = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(scale))
            else:
                ours = seconds(lambda s=scale: discrete_gaussian(options.values, Fraction(s) ** 2))
                peer = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
            theirs = seconds(lambda p=peer: p(zeros), repeats=2)
            title = f"exact {'Laplace' if law == 'laplace' else 'normal'} noise of scale {scale:,}"
            rate = options.values / ours / 1e6
            claims.rate(title, "OpenDP", rate, options.theirs / theirs / 1e6, "M values/s", LEAST)
            if scale == SCALES[0]:
                try:
                    one_by_one = measured(__file__, f"{law} {scale}", [], threads=1, peer="diffprivlib")
                except UnmeasuredError as error:
                    print(error)
                    continue
                claims.rate(title, "diffprivlib, one by one", rate, one_by_one / 1e6, "M values/s", LEAST)
    return claims.close()


if __name__ == "__main__":
    sys.exit(main())
