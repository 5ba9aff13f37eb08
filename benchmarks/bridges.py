"""Bridges to other libraries, checked with the real ones: docs/own-method.md, "Other libraries".

python -m benchmarks bridges

- *Metrics*: recall, precision, nDCG, MRR and hit rate of the same lists, ours and theirs, differ by less than 1e-9.
- *Ours in theirs*: a model of discreet in a pipeline of LensKit and with the interface of RecTools gives the lists that
  it gives by itself.
- *Theirs in ours*: models of implicit, LensKit, RecTools, Surprise and RecBole are evaluated by ``discreet.evaluate``,
  by name and as objects, and attacked and audited by name. What RecBole's EASE answers is what its formula says.

The libraries are installed when this is first run, into an environment of its own in the cache; RecBole where Python is
3.11, since the version of ray that it asks for has nothing later.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet"
ROOT = Path(__file__).parent.parent
WITH_RECBOLE = sys.version_info < (3, 12)
# Step by step: all but implicit and Surprise need torch, and take the one that is there. RecTools and RecBole take
# NumPy 1, which later versions of pyarrow do not; RecBole sets values in a way that pandas 3 ends. RecTools brings a
# fork of implicit under the same name: the one that is checked here is put in its place at last.
PINNED = ["numpy==1.26.*", "pandas==2.3.*", "pyarrow==20.*"]
PACKAGES = [
    ["torch==2.13.0"],
    ["lenskit==2025.8.1", "rectools==0.19.0", "scikit-surprise==1.1.5", *(["recbole==1.2.1"] * WITH_RECBOLE), *PINNED],
    [str(ROOT), *PINNED],
    ["--force-reinstall", "--no-deps", "implicit==0.7.3"],
]
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
        lenskit_metrics, rectools_metrics, ours_in_lenskit, ours_in_rectools, theirs_in_ours, by_name, ratings_by_name,
        their_audit, unknown_names,
    ]  # fmt: skip
    if WITH_RECBOLE:
        checks += [recbole_scores, recbole_models, recbole_by_name, recbole_in_a_program]
    else:
        print("RecBole is not checked: it needs Python 3.11", flush=True)
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
    folder, wanted = CACHE / "bridges", repr(PACKAGES)
    python, done = folder / ("Scripts" if os.name == "nt" else "bin") / "python", folder / "installed"
    if not done.exists() or done.read_text() != wanted:
        print(f"installing the libraries into {folder}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        for packages in PACKAGES:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        done.write_text(wanted)
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


def by_name() -> str:
    """Models of all libraries by name, beside one of ours with several budgets."""
    import discreet as dc

    films = dc.synthetic.films(users=600, items=60, seed=7)
    theirs = ["lenskit:ItemKNN", "lenskit:EASE", "implicit:Cosine", "implicit:AlternatingLeastSquares", "rectools:EASE"]
    if WITH_RECBOLE:
        theirs += ["recbole:ItemKNN", "recbole:EASE", "recbole:BPR"]
    named = {**{name: name for name in theirs}, "ours": "private-recommender"}
    found = dc.evaluate(named, films, epsilons=[1, 4], k=10, splits=1, progress=False)
    assert found.models[: len(theirs)] == theirs, found.models
    values = {name: found.value("recall@10", name) for name in found.models}
    assert all(0 < value <= 1 for value in values.values()), values
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def ratings_by_name() -> str:
    """Models of Surprise and LensKit that predict ratings, by name; better than the same rating for all."""
    import discreet as dc

    films = dc.synthetic.films(users=600, items=60, seed=7)
    names = ["surprise:SVD", "surprise:KNNBaseline", "surprise:BaselineOnly", "lenskit:Bias", "biases"]
    found = dc.evaluate(names, films, protocol="holdout", splits=1, progress=False)
    values = {name: found.value("rmse", name) for name in names}
    assert films.rating is not None
    spread = float(films.rating.std())
    assert all(0 < value < spread for value in values.values()), (values, spread)
    return f"{', '.join(f'{name} {value:.3f}' for name, value in values.items())}; standard deviation {spread:.3f}"


def their_audit() -> str:
    """A model of RecTools by its name."""
    import discreet as dc

    films = dc.synthetic.films(users=80, items=30, seed=7)
    games = ["canary-recommendations", "one-item-recommendations"]
    found = dc.audit("rectools:EASE", films, attacks=games, runs=20, seconds=60, processes=1, progress=False)
    assert found.worst.proved.epsilon > 0.5, found
    return found.headline


def unknown_names() -> str:
    """Every library lists its models where a name is not one of them."""
    from discreet.errors import UsageError
    from discreet.models.foreign.lookup import LIBRARIES, of_library

    told = []
    for library in LIBRARIES:
        if library == "recbole" and not WITH_RECBOLE:
            continue
        listed: list[str] = []
        try:
            of_library(f"{library}:NoSuchModel")
        except UsageError as error:
            listed = str(error.remedy).removeprefix("There are: ").rstrip(".").split(", ")
        assert len(listed) >= 5, (library, listed)
        told.append(f"{library} {len(listed)}")
    return f"models that are listed: {', '.join(told)}"


def recbole_scores() -> str:
    """RecBole's EASE under our ids: G = XᵀX + λ, scores X·(I − G⁻¹/diag G⁻¹), computed here from our records."""
    import discreet as dc
    from discreet.attacks import RecBoleModel

    films = dc.synthetic.films(users=300, items=60, seed=7)
    model = RecBoleModel("EASE", reg_weight=100.0).fit(films)
    touched = (films.csr.toarray() != 0).astype(np.float64)
    inverse = np.linalg.inv(touched.T @ touched + 100.0 * np.eye(films.n_items))
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    pairs = [(user, item) for user in films.users.ids()[:50] for item in films.items.ids()]
    told = np.array(model.predict(pairs)["score"].to_list(), dtype=np.float64).reshape(50, films.n_items)
    expected = (touched @ weights)[films.users.encode(films.users.ids()[:50])]
    apart = np.nanmax(np.abs(told - expected))
    unknown = np.isnan(told).any(axis=0)
    assert apart < 1e-4, apart  # RecBole computes with 32 bits
    assert (unknown == (films.records_per_item == 0)).all()
    return f"EASE of {films.n_users} users differs from its formula by {apart:.0e} at most"


def recbole_models() -> str:
    """General recommenders of every kind: with and without training, on graphs, autoencoders, pairs alone."""
    import discreet as dc
    from discreet.attacks import RecBoleModel

    films = dc.synthetic.films(users=200, items=40, seed=7)
    names = ["Pop", "ItemKNN", "EASE", "SLIMElastic", "BPR", "LightGCN", "NGCF", "NeuMF", "MultiVAE", "DiffRec", "ENMF"]
    asked = films.users.ids()[:20]
    for name in names:
        first, again = (RecBoleModel(name, epochs=2).fit(films).recommend(asked, n=5) for _ in range(2))
        assert first.height == 100, (name, first)
        # Sums on several threads differ in their last digits; DiffRec draws noise when it is asked.
        same = np.allclose(first["score"].to_numpy(), again["score"].to_numpy(), atol=1e-4)
        assert same or name == "DiffRec", f"{name}: another answer with the same seed"
    return f"{', '.join(names)} are fitted and recommend"


def recbole_by_name() -> str:
    """Attacked and audited by name."""
    import discreet as dc
    from discreet.attacks import SybilAttack

    films = dc.synthetic.films(users=80, items=30, seed=7)
    attacked = SybilAttack(k=5, known=4, sees="list").run("recbole:ItemKNN", films, targets=3, seed=1).rows[0]
    assert attacked.model == "recbole:ItemKNN"
    games = ["canary-predictions", "canary-recommendations"]
    found = dc.audit("recbole:EASE", films, attacks=games, runs=20, seconds=60, processes=1, progress=False)
    assert found.worst.proved.epsilon > 0.5, found
    found = [attacked.exact_present, attacked.exact_absent, found.headline]
    return "ItemKNN gives {:.0%} of hidden items away, {:.0%} without the target; audit of EASE: {}".format(*found)


def recbole_in_a_program() -> str:
    """``discreet evaluate`` in an empty folder: RecBole takes none of its arguments and leaves nothing there."""
    import discreet as dc
    from discreet.data.readers import write

    with tempfile.TemporaryDirectory() as folder:
        write(dc.synthetic.films(users=200, items=40, seed=7), Path(folder) / "films.parquet")
        before = set(Path(tempfile.gettempdir()).glob("discreet-recbole-*"))
        given = ["--model=recbole:BPR", "--option=epochs=3", "--k=5", "--splits=1", "--seed=5", "--json"]
        script = "from discreet.cli import main; main()"
        command = [sys.executable, "-c", script, "evaluate", "films.parquet", *given]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        left = [path.name for path in Path(folder).iterdir()]
        assert left == ["films.parquet"], left
        assert set(Path(tempfile.gettempdir()).glob("discreet-recbole-*")) <= before
        said = [line for line in done.stderr.splitlines() if line and not line.startswith("evaluating: ")]
        assert not said, said
    value = json.loads(done.stdout)["models"]["recbole:BPR"]["metrics"]["recall@5"]
    return f"recall@5 {value:.3f}, and nothing else was said or left"


if __name__ == "__main__":
    sys.exit(main())
