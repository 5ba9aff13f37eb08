"""The topic model beside that of tomotopy: triples × sweeps a second, and how good the topics are.

python benchmarks/topics.py                  synthetic data: 12,000 resources, 190,000 triples, 10,000 tags; K = 100
python benchmarks/topics.py --data PATH      any tag assignments that discreet reads
python benchmarks/topics.py --quick          fewer sweeps: no judgment

Both learn from the same nine tenths of the triples, with the same number of topics, the same priors (tomotopy would
tune its own) and the same number of sweeps, on one thread and on two, each in a process of its own. Sweeps come in
small portions, the two in turn, and the best portion counts: on a busy machine the others measure the company. Speed on
one thread is by processor time, on two by the clock. Perplexity of the held-out tenth and coherence (NPMI of the ten
most probable tags) are worked out by the same functions from the distributions that each has learned; they depend on
the seed, so the mean difference over seeds is judged by its standard error.

Claimed: at least as many triples × sweeps a second on one thread and on two, with perplexity and coherence no worse
than chance allows. tomotopy is installed when it is first needed, into an environment of its own in the cache.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The peer runs this file, too, in an environment without discreet: it is imported where it is used.
from harness import THREAD_LIMITS, Claims, interpreter

OURS, PEER = "discreet", "tomotopy"
USERS, RESOURCES, TAGS, TRIPLES = 1_900, 14_400, 10_300, 196_500
ALPHA, BETA = 0.1, 0.01
HELD_OUT = 10  # one triple of so many
PORTION = 10  # sweeps
CHANCE = 2.5  # standard errors
LISTED = 10


class Topics(NamedTuple):
    """A model that can be swept, and what it has learned: Pr(z | r), resources × topics; Pr(t | z), topics × tags."""

    sweep: Callable[[int], object]
    learned: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64]]]


# Who is measured


def ours(resource: NDArray[Any], tag: NDArray[Any], options: argparse.Namespace) -> Topics:
    from discreet.data import TagAssignments
    from discreet.tagging import TopicModel

    # Users make no difference to topics; numbered one by one no two triples are the same.
    columns = {"user_id": np.arange(tag.size), "resource_id": resource, "tag": tag}
    data = TagAssignments(columns).with_vocabulary(np.arange(options.tags)).with_resources(np.arange(options.resources))
    model = TopicModel(
        topics=options.topics,
        alpha=ALPHA,
        beta=BETA,
        iterations=1,
        tolerance=None,
        trace_every=10**9,
        seed=options.seed,
    ).fit(data, threads=options.threads)
    return Topics(
        lambda sweeps: model.more(sweeps, threads=options.threads),
        lambda: (model.resource_topics_, model.topic_words_),
    )


def peer(resource: NDArray[Any], tag: NDArray[Any], options: argparse.Namespace) -> Topics:
    import tomotopy  # pyright: ignore[reportMissingImports]

    model = tomotopy.LDAModel(k=options.topics, alpha=ALPHA, eta=BETA, seed=options.seed + 1)
    model.optim_interval = 0
    order = np.argsort(resource, kind="stable")
    with_triples, first = np.unique(resource[order], return_index=True)
    for codes in np.split(tag[order], first[1:]):
        model.add_doc([str(code) for code in codes])

    def learned() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # Resources and tags without a triple have what the priors say.
        resource_topics = np.full((options.resources, options.topics), 1 / options.topics)
        resource_topics[with_triples] = [document.get_topic_dist() for document in model.docs]
        places = np.array([int(word) for word in model.used_vocabs])
        unseen = options.tags - places.size
        topic_tags = np.empty((options.topics, options.tags))
        for topic, counted in enumerate(model.get_count_by_topics()):
            # It knows of no other tags; its law times its own total gives back the counts and the prior.
            raised = np.full(options.tags, BETA)
            raised[places] = model.get_topic_word_dist(topic) * (counted + BETA * places.size)
            topic_tags[topic] = raised / (counted + BETA * (places.size + unseen))
        return resource_topics, topic_tags

    model.train(1, workers=options.threads)
    return Topics(lambda sweeps: model.train(sweeps, workers=options.threads), learned)


# One measurement, in a process of its own: it sweeps when it is told to


def measure(who: str, options: argparse.Namespace) -> None:
    """Sweep a portion for each line that comes in, and answer with its times; in the end write what was learned."""
    with np.load(options.dataset) as stored:
        resource, tag = stored["resource"], stored["tag"]
    topics = (ours if who == OURS else peer)(resource, tag, options)
    print(flush=True)
    for line in sys.stdin:
        if line.strip() == "learned":
            break
        begun, used = time.perf_counter(), time.process_time()
        topics.sweep(PORTION)
        print(json.dumps([time.perf_counter() - begun, time.process_time() - used]), flush=True)
    resource_topics, topic_tags = topics.learned()
    np.savez(options.out, resource_topics=resource_topics, topic_tags=topic_tags)


class Contestant:
    """A process that measures."""

    def __init__(self, who: str, folder: Path, shape: dict[str, int]) -> None:
        self.out = folder / f"{who}-{shape['threads']}-{shape['seed']}.npz"
        python = interpreter(PEER) if who == PEER else Path(sys.executable)
        command = [
            python,
            "-W",
            "ignore",
            __file__,
            "--measure",
            who,
            "--dataset",
            folder / "dataset.npz",
            "--out",
            self.out,
        ]
        command += [part for name, value in shape.items() for part in (f"--{name}", value)]
        environment = os.environ | dict.fromkeys(THREAD_LIMITS, str(shape["threads"]))
        self.process = subprocess.Popen(
            [str(part) for part in command], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.times: list[tuple[float, float]] = []
        self.answer()

    def answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a measurement ended early")
        return line

    def say(self, what: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()

    def sweep(self) -> None:
        self.say("sweep")
        self.times.append(tuple(json.loads(self.answer())))

    def learned(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        self.say("learned")
        if self.process.wait():
            sys.exit("a measurement failed")
        with np.load(self.out) as stored:
            return stored["resource_topics"], stored["topic_tags"]


# The table


class Found(NamedTuple):
    seconds: float
    processor: float
    perplexity: float
    coherence: float


def run(data: Any, threads: int, seed: int, options: argparse.Namespace) -> dict[str, Found]:
    """Both on the same triples, portion by portion in turn."""
    from discreet.tagging.topics.model import coherence, perplexity

    held = np.random.default_rng(seed).permutation(len(data)) % HELD_OUT == 0
    shape = {"topics": options.topics, "threads": threads, "seed": seed}
    shape |= {"resources": data.n_resources, "tags": data.n_tags}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "dataset.npz", resource=data.resource[~held], tag=data.tag[~held])
        both = {who: Contestant(who, Path(folder), shape) for who in (OURS, PEER)}
        for _ in range(options.sweeps // PORTION):
            for one in both.values():
                one.sweep()
        for who, one in both.items():
            resource_topics, topic_tags = one.learned()
            rate = PORTION * int((~held).sum()) / 1e6
            found[who] = Found(
                rate / min(seconds for seconds, _ in one.times),
                rate / min(processor for _, processor in one.times),
                perplexity(resource_topics, topic_tags, data.resource[held], data.tag[held]),
                float(coherence(topic_tags, data.resource[~held], data.tag[~held], n=LISTED).mean()),
            )
    return found


def compare(data: Any, options: argparse.Namespace, claims: Claims) -> bool:
    """Print the table; whether topics are as good."""
    print(f"{data!r}; {options.topics} topics, {options.sweeps} sweeps, {options.seeds} seeds for each row")
    print("millions of triples × sweeps a second, by the clock and by processor time; perplexity and coherence")
    print(f"{'':<12}{'threads':>8}{'clock':>9}{'÷ peer':>8}{'CPU':>9}{'÷ peer':>8}{'perplexity':>12}{'coherence':>11}")
    speeds, runs = [], []
    for threads in (1, 2):
        # Other seeds for two threads: with ours the same ones would give the same topics.
        now = [run(data, threads, threads * options.seeds + place, options) for place in range(options.seeds)]
        best = {who: np.max([each[who][:2] for each in now], axis=0) for who in (OURS, PEER)}
        for who in (OURS, PEER):
            clock, processor = best[who] / best[PEER]
            quality = np.mean([each[who][2:] for each in now], axis=0)
            print(
                f"{who:<12}{threads:>8}{best[who][0]:>9.2f}{clock:>8.2f}{best[who][1]:>9.2f}{processor:>8.2f}"
                f"{quality[0]:>12.1f}{quality[1]:>11.4f}",
                flush=True,
            )
        speeds.append(best)
        runs += now
    for threads, title, clock in ((1, "one thread, processor time", 1), (2, "two threads", 0)):
        ours, theirs = (float(speeds[threads - 1][who][clock]) for who in (OURS, PEER))
        claims.rate(f"topics, {title}", PEER, ours, theirs, "M triples × sweeps/s")
    return no_worse(runs)


def no_worse(runs: list[dict[str, Found]]) -> bool:
    """Print both measures over all runs; whether ours are no worse than chance allows, run by run."""
    good = True
    for name, sign in (("perplexity", 1), ("coherence", -1)):
        found, expected = (np.array([getattr(each[who], name) for each in runs]) for who in (OURS, PEER))
        more = found - expected  # on the same held-out triples
        error = float(more.std(ddof=1)) / np.sqrt(more.size)
        met = bool(sign * more.mean() <= CHANCE * error)
        print(
            f"{name} {found.mean():.4g} against {expected.mean():.4g}, difference {more.mean():.2g} ± {error:.2g}: "
            f"{'no worse' if met else 'WORSE'}"
        )
        good = good and met
    return good


def chosen_data(path: Path | None) -> Any:
    from discreet.data import TagAssignments, read, synthetic

    if path is not None:
        data = read(path)
        if not isinstance(data, TagAssignments):
            sys.exit(f"{path} has no tag assignments")
        return data.cleaned()
    # Some of what is drawn is never met, and some goes when tags are cleaned: this leaves 12,000 resources, 190,000
    # triples and 10,000 tags.
    return synthetic.tags(users=USERS, resources=RESOURCES, vocabulary=TAGS, records=TRIPLES, seed=7).cleaned()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="file or folder of tag assignments")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few sweeps of one seed")
    for hidden, kind in (("measure", str), ("dataset", Path), ("out", Path), ("threads", int), ("seed", int)):
        parser.add_argument(f"--{hidden}", type=kind, help=argparse.SUPPRESS)
    for hidden in ("resources", "tags"):
        parser.add_argument(f"--{hidden}", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        measure(options.measure, options)
        return 0
    if options.quick:
        options.sweeps, options.seeds = 30, 2
    claims = Claims()
    good = compare(chosen_data(options.data), options, claims)
    failed = max(claims.close(), 0 if good else 1)
    return 0 if options.quick else failed  # the claims are about models that have settled


if __name__ == "__main__":
    sys.exit(main())
