"""Bridges to LensKit and RecTools, checked with the real libraries: docs/own-method.md, "Other libraries".

python -m benchmarks bridges

- *Metrics*: recall, precision, nDCG, MRR and hit rate of the same lists, ours and theirs, differ by less than 1e-9.
- *Ours in theirs*: a model of discreet in a pipeline of LensKit and with the interface of RecTools gives the lists that
  it gives by itself.
- *Theirs in ours*: models of both are evaluated by ``discreet.evaluate``, and one is audited.

The libraries are installed when this is first run, into an environment of its own in the cache.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet"
ROOT = Path(__file__).parent.parent
# Step by step: LensKit and RecTools need torch, and take the one that is there.
# RecTools takes NumPy 1, which later versions of pyarrow do not.
PACKAGES = [["torch==2.13.0"], ["lenskit", "rectools", "implicit", "pyarrow==20.*"], [str(ROOT), "pyarrow==20.*"]]
TOLERANCE = 1e-9
K = 10


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--installed", action="store_true", help="the libraries are in this environment")
    if not parser.parse_args(arguments).installed:
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        command = [environment(), __file__, "--installed"]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=False).returncode
    checks: list[Callable[[], str]] = [
        lenskit_metrics, rectools_metrics, ours_in_lenskit, ours_in_rectools, theirs_in_ours, their_audit,
    ]  # fmt: skip
    failed = 0
    for check in checks:
        name = check.__name__.replace("_", " ")
        try:
            print(f"{name}: {check()}", flush=True)
        except Exception as error:
            failed += 1
            print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
    return min(1, failed)


def environment() -> str:
    """The Python of the environment with the libraries, which is made where there is none yet."""
    folder = CACHE / "bridges"
    python, done = folder / ("Scripts" if os.name == "nt" else "bin") / "python", folder / "installed"
    if not done.exists():
        print(f"installing LensKit and RecTools into {folder}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        for packages in PACKAGES:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        done.touch()
    return str(python)


def lists_and_truth() -> tuple[Any, Any, Any]:
    """Lists of EASE for held-out people, what they really touched, and the records that they are told."""
    import discreet as dc
    from discreet.evaluation.protocols import strong_generalization

    films = dc.synthetic.films(users=1_500, items=120, seed=7)
    asked = strong_generalization(films, 3, 100, 0.6, 5, None)
    model = dc.factors.EASE().fit(asked.train)
    return model.attach(asked.told).recommend(asked.told.users.ids(), n=K), asked.held_out, asked.told


def of_ours(metric: str) -> dict[Any, float]:
    """A metric of ours for each user."""
    from discreet.evaluation import evaluate_ranking

    lists, truth, _ = lists_and_truth()
    found = evaluate_ranking(lists, held_out=truth, k=[K], metrics=[metric]).per_user
    assert found is not None
    return dict(zip(found["user_id"].to_list(), found[f"{metric}@{K}"].to_list(), strict=True))


def furthest(ours: dict[Any, float], theirs: dict[Any, float]) -> float:
    """The largest difference of two metrics over users."""
    assert set(ours) == set(theirs), "not the same users"
    return max(abs(ours[user] - theirs[user]) for user in ours)


def lenskit_metrics() -> str:
    """LensKit's recall is ours with min(k, held out); its nDCG takes the discount log₂(rank + 1) if told to."""
    from lenskit.data import ItemList
    from lenskit.metrics import NDCG, Hit, Precision, Recall, RecipRank
    from lenskit.metrics.ranking import LogRankWeight

    lists, truth, _ = lists_and_truth()
    shown = {user[0]: part["item_id"].to_list() for user, part in lists.group_by("user_id", maintain_order=True)}
    listed = {user: ItemList(items, ordered=True) for user, items in shown.items()}
    held: dict[Any, list[Any]] = {}
    for user, item in truth.to_frame().select("user_id", "item_id").iter_rows():
        held.setdefault(user, []).append(item)
    metrics = {
        "truncated_recall": Recall(K), "precision": Precision(K), "mrr": RecipRank(K), "hit": Hit(K),
        "ndcg": NDCG(K, weight=LogRankWeight(offset=1)),
    }  # fmt: skip
    apart = {
        name: furthest(
            of_ours(name),
            {user: float(metric.measure_list(listed[user], ItemList(held[user]))) for user in held},
        )
        for name, metric in metrics.items()
    }
    assert max(apart.values()) < TOLERANCE, apart
    return f"{', '.join(apart)} of {len(held)} users differ by {max(apart.values()):.0e} at most"


def rectools_metrics() -> str:
    """RecTools' recall divides by all that was held out, as our plain recall does."""
    import pandas as pd
    from rectools.metrics import MRR, NDCG, HitRate, Precision, Recall

    lists, truth, _ = lists_and_truth()
    columns = ("user_id", "item_id", "rank")
    shown = pd.DataFrame({name: lists[name].to_list() for name in columns})
    held = pd.DataFrame({name: truth.to_frame()[name].to_list() for name in ("user_id", "item_id")})
    metrics = {
        "recall": Recall(k=K), "precision": Precision(k=K), "mrr": MRR(k=K), "hit": HitRate(k=K),
        "ndcg": NDCG(k=K, log_base=2, divide_by_achievable=True),
    }  # fmt: skip
    apart = {
        name: furthest(of_ours(name), metric.calc_per_user(shown, held).to_dict()) for name, metric in metrics.items()
    }
    assert max(apart.values()) < TOLERANCE, apart
    return f"{', '.join(apart)} of {held['user_id'].nunique()} users differ by {max(apart.values()):.0e} at most"


def ours_in_lenskit() -> str:
    """A pipeline of LensKit around a model of ours gives the lists that the model gives by itself."""
    import pandas as pd
    from lenskit import recommend
    from lenskit.data import from_interactions_df
    from lenskit.pipeline import topn_pipeline

    import discreet as dc
    from discreet.factors import EASE
    from discreet.models.bridges import lenskit_scorer

    films = dc.synthetic.films(users=300, items=60, seed=7)
    frame = films.to_frame().select("user_id", "item_id", "rating")
    data = from_interactions_df(pd.DataFrame({name: frame[name].to_list() for name in frame.columns}))
    pipeline = topn_pipeline(lenskit_scorer(EASE(), scale="1:5"))
    pipeline.train(data)
    alone = EASE().fit(dc.Interactions(frame, items=sorted(set(frame["item_id"])), scale="1:5"))
    people = films.users.ids()[:50]
    for user in people:
        told = recommend(pipeline, user, n=5)
        expected = alone.recommend([user], n=5)
        assert np.allclose(told.scores(), expected["score"].to_numpy(), atol=1e-6), (user, told.to_df(), expected)
    private = topn_pipeline(lenskit_scorer(dc.PrivateRecommender(epsilon=1), scale="1:5"))
    private.train(data)
    assert len(recommend(private, people[0], n=5)) == 5
    return f"the same scores for {len(people)} people; PrivateRecommender trains and recommends"


def ours_in_rectools() -> str:
    """A model of ours with RecTools' interface gives the lists that it gives by itself, and RecTools evaluates it."""
    import pandas as pd
    from rectools.dataset import Dataset
    from rectools.metrics import Recall, calc_metrics

    import discreet as dc
    from discreet.factors import EASE
    from discreet.models.bridges import rectools_model

    films = dc.synthetic.films(users=300, items=60, seed=7)
    frame = films.to_frame()
    table = pd.DataFrame(
        {
            "user_id": frame["user_id"].to_list(),
            "item_id": frame["item_id"].to_list(),
            "weight": frame["rating"].cast(float).to_list(),
            "datetime": pd.to_datetime(frame["timestamp"].to_numpy(), unit="s"),
        }
    )
    dataset = Dataset.construct(table)
    model = rectools_model(EASE(), scale="1:5").fit(dataset)
    people = films.users.ids()[:50]
    told = model.recommend(users=people, dataset=dataset, k=5, filter_viewed=True)
    alone = EASE().fit(dc.Interactions(frame, items=sorted(set(frame["item_id"])), scale="1:5")).recommend(people, n=5)
    ours = np.array(alone.sort("user_id", "rank")["score"].to_list())
    theirs = told.sort_values(["user_id", "rank"])["score"].to_numpy()
    assert np.allclose(ours, theirs, atol=1e-6), np.abs(ours - theirs).max()
    private = rectools_model(dc.PrivateRecommender(epsilon=1), scale="1:5").fit(dataset)
    shown = private.recommend(users=people, dataset=dataset, k=10, filter_viewed=False)
    measured = calc_metrics({"recall@10": Recall(k=10)}, reco=shown, interactions=table)
    return f"the same scores for {len(people)} people; RecTools measures recall@10 {measured['recall@10']:.3f}"


def theirs_in_ours() -> str:
    """Models of LensKit, implicit and RecTools in ``discreet.evaluate``, on the same splits."""
    from lenskit.knn import ItemKNNScorer
    from rectools.models import EASEModel, PopularModel

    import discreet as dc
    from discreet.attacks import ImplicitModel, LensKitModel, RecToolsModel

    films = dc.synthetic.films(users=600, items=60, seed=7)
    models = {
        "LensKit ItemKNN": LensKitModel(lambda: ItemKNNScorer(max_nbrs=20, feedback="implicit")),
        "implicit cosine": ImplicitModel(),
        "RecTools EASE": RecToolsModel(lambda: EASEModel(regularization=100.0)),
        "RecTools popular": RecToolsModel(PopularModel),
        "popularity": dc.factors.Popularity(),
        "ease": dc.factors.EASE(),
    }
    found = dc.evaluate(models, films, k=10, splits=1, progress=False)
    values = {name: found.value("recall@10", name) for name in models}
    assert all(0 < value <= 1 for value in values.values()), values
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def their_audit() -> str:
    """A model of RecTools by its name, as on the command line."""
    import discreet as dc
    from discreet.models.foreign.lookup import outside

    films = dc.synthetic.films(users=80, items=30, seed=7)
    found = dc.audit(outside("rectools:EASE"), films, runs=10, seconds=20, processes=1, progress=False)
    assert found.scores
    return found.headline


if __name__ == "__main__":
    sys.exit(main())
