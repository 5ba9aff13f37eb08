"""Noise: values per second of our exact samplers and of OpenDP's, on the same scales in the same run."""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from fractions import Fraction

from discreet.privacy.noise import discrete_gaussian, discrete_laplace

# Its type stubs export nothing, so it is imported as any module.
dp = importlib.import_module("opendp.prelude")
dp.enable_features("contrib")


def seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """The best of several runs, after one to warm up."""
    run()
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=1_000_000)
    parser.add_argument("--theirs", type=int, default=100_000, help="values that OpenDP draws; its rate is constant")
    options = parser.parse_args()
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    zeros = [0] * options.theirs
    print(f"{'law':<10}{'scale':>10}{'ours M/s':>12}{'OpenDP M/s':>12}{'ratio':>8}")
    for scale in (1, 100, 10_000, 60 * 2**20):
        for law in ("laplace", "gaussian"):
            if law == "laplace":
                ours = seconds(lambda s=scale: discrete_laplace(options.values, Fraction(s)))
                peer = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(scale))
            else:
                ours = seconds(lambda s=scale: discrete_gaussian(options.values, Fraction(s) ** 2))
                peer = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
            theirs = seconds(lambda p=peer: p(zeros), repeats=2)
            rate, peer_rate = options.values / ours / 1e6, options.theirs / theirs / 1e6
            print(f"{law:<10}{scale:>10}{rate:>12.2f}{peer_rate:>12.3f}{rate / peer_rate:>8.0f}")


if __name__ == "__main__":
    main()
