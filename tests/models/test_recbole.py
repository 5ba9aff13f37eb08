"""Models of RecBole, with stand-ins for it and for torch; ``python -m benchmarks bridges`` checks the real ones."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.attacks import RecBoleModel
from discreet.errors import EvaluationError, UsageError
from discreet.models.foreign.lookup import of_library

SEEN: dict[str, Any] = {}
"""What the stand-ins saw in the last fit."""


class Config(dict):
    """Takes settings from the command line of the program, as RecBole's does."""

    def __init__(self, model: str, dataset: str, config_dict: dict[str, Any]) -> None:
        typed = dict(one[2:].split("=") for one in sys.argv[1:] if one.startswith("--") and "=" in one)
        defaults = {"seed": 2020, "reproducibility": True, "device": "cpu", "shuffle": True, "MODEL_TYPE": "general"}
        super().__init__({**defaults, **config_dict, **typed, "model": model, "dataset": dataset})
        os.environ["CUDA_VISIBLE_DEVICES"] = self["gpu_id"]
        SEEN.update(config=dict(self), folder=Path(self["data_path"]))

    def __getitem__(self, name: str) -> Any:
        return self.get(name)


class Dataset:
    """Reads an atomic file, and numbers users and items from 1 in the order in which they come."""

    uid_field, iid_field = "user_id", "item_id"

    def __init__(self, config: Config) -> None:
        file = Path(config["data_path"]) / config["dataset"] / f"{config['dataset']}.inter"
        table = pl.read_csv(file, separator="\t", infer_schema=False)
        SEEN["columns"] = table.columns
        self.rows = [(row["user_id:token"], row["item_id:token"]) for row in table.to_dicts()]
        self.field2token_id: dict[str, dict[str, int]] = {"user_id": {"[PAD]": 0}, "item_id": {"[PAD]": 0}}
        for place, name in enumerate(("user_id", "item_id")):
            for row in reversed(self.rows):
                self.field2token_id[name].setdefault(row[place], len(self.field2token_id[name]))
        self.item_num = len(self.field2token_id["item_id"])

    def build(self) -> list[Any]:
        return [self, None, None]


class Interaction(dict):
    def to(self, device: str) -> Interaction:
        return self

    def repeat_interleave(self, times: int) -> Interaction:
        return Interaction({name: Tensor(np.repeat(value, times)) for name, value in self.items()})


class Tensor(np.ndarray):
    def __new__(cls, values: Any) -> Tensor:
        return np.asarray(values).view(cls)

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def repeat(self, times: int) -> Tensor:  # type: ignore[override]
        return Tensor(np.tile(np.asarray(self), times))


class Popular:
    """Scores items by 100 times their records, plus the number of the user."""

    def __init__(self, config: Config, dataset: Dataset) -> None:
        if config["epochs"] == 0:
            raise RuntimeError("nothing to learn in no time")
        self.counts = np.zeros(dataset.item_num)
        for _, item in dataset.rows:
            self.counts[dataset.field2token_id["item_id"][item]] += 1

    def to(self, device: str) -> Popular:
        return self

    def eval(self) -> None:
        pass

    def fit(self) -> None:
        """Marks a model of a library."""

    def full_sort_predict(self, asked: Interaction) -> Any:
        return Tensor((100 * self.counts + np.asarray(asked["user_id"])[:, None]).ravel())


class Pairs(Popular):
    """The same, but it scores pairs alone."""

    def full_sort_predict(self, asked: Interaction) -> Any:
        raise NotImplementedError

    def predict(self, asked: Interaction) -> Any:
        return Tensor(100 * self.counts[np.asarray(asked["item_id"])] + np.asarray(asked["user_id"]))


class Trainer:
    def __init__(self, config: Config, model: Any) -> None:
        board = sys.modules["recbole.trainer.trainer"].get_tensorboard(None)
        board.add_scalar("loss", 1.0, 0)
        board.add_hparams({}, {})
        logging.getLogger().warning("what RecBole says on the way")

    def fit(self, train: Any, valid: Any, verbose: bool, saved: bool, show_progress: bool) -> None:
        assert (valid, verbose, saved, show_progress) == (None, False, False, False)


def get_tensorboard(logger: Any) -> Any:
    Path("log_tensorboard").mkdir()


def init_seed(seed: int, reproducibility: bool) -> None:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


Popular.__module__ = Pairs.__module__ = "recbole.model.general_recommender.pop"


@pytest.fixture(autouse=True)
def _recbole(monkeypatch: pytest.MonkeyPatch) -> None:
    def loader(config: Config, phase: str) -> Any:
        return lambda config, dataset, sampler, shuffle: SimpleNamespace(_dataset=dataset)

    models = {"Popular": Popular, "Pairs": Pairs}
    modules: dict[str, dict[str, Any]] = {
        "torch": {"no_grad": contextlib.nullcontext, "tensor": Tensor,
                  "arange": lambda size, device: Tensor(np.arange(size)),
                  "Tensor": type("Tensor", (), {}), "Generator": type("Generator", (), {}), "seed": lambda: None,
                  "random": SimpleNamespace(fork_rng=lambda devices: contextlib.nullcontext())},
        "recbole": {"__path__": []}, "recbole.config": {"Config": Config},
        "recbole.utils": {"init_seed": init_seed, "get_model": models.get, "get_trainer": lambda kind, name: Trainer},
        "recbole.data": {"__path__": [], "create_dataset": Dataset},
        "recbole.data.utils": {"create_samplers": lambda *given: (None, None, None), "get_dataloader": loader},
        "recbole.data.interaction": {"Interaction": Interaction},
        "recbole.trainer": {"__path__": []},
        "recbole.trainer.trainer": {"get_tensorboard": get_tensorboard},
        "recbole.model": {"__path__": []}, "recbole.model.general_recommender": models,
    }  # fmt: skip
    for name, content in modules.items():
        made = ModuleType(name)
        made.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, made)
    monkeypatch.setattr(np, "__version__", "1.26.4")
    SEEN.clear()


@pytest.fixture
def shop() -> dc.Interactions:
    rows = [("ann", "tea", 5), ("ann", "rum", 1), ("bob", "tea", 4), ("bob", "gin", 2), ("cid", "gin", 3)]
    return dc.Interactions(rows, items=["ale", "gin", "rum", "tea"], scale="1:5")


@pytest.mark.parametrize("name", ["Popular", "Pairs"])
def test_scores_come_back_under_our_ids(name: str, shop: dc.Interactions) -> None:
    model = of_library(f"recbole:{name}").fit(shop)
    known = model.scores_.dataset.field2token_id["user_id"]
    number = {
        user: known[str(code)] for user, code in zip("abc", shop.users.encode(["ann", "bob", "cid"]), strict=True)
    }
    assert sorted(number.values()) == [1, 2, 3]
    told = model.recommend(["ann", "cid"], n=3)
    # Two records each of tea and gin, one of rum; ale, which nobody touched, has no score.
    assert told.rows() == [
        ("ann", "gin", 200.0 + number["a"], 1),
        ("cid", "tea", 200.0 + number["c"], 1),
        ("cid", "rum", 100.0 + number["c"], 2),
    ]
    pairs = model.predict([("bob", "rum"), ("bob", "ale")])
    assert pairs["score"].to_list() == [100.0 + number["b"], None]


def test_nothing_is_left_behind(shop: dc.Interactions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["discreet", "--model=recbole:Popular", "--epochs=7", "--seed=3"])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    states = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    try:
        of_library("recbole:Popular", {"epochs": 4}).fit(shop)
        logging.getLogger().warning("heard again")
    finally:
        logging.getLogger().removeHandler(handler)
    assert SEEN["config"]["epochs"] == 4
    assert SEEN["config"]["seed"] == 2020
    assert SEEN["columns"] == ["user_id:token", "item_id:token", "rating:float"]
    assert not SEEN["folder"].exists()
    assert list(tmp_path.iterdir()) == []
    assert sys.argv[1:] == ["--model=recbole:Popular", "--epochs=7", "--seed=3"]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"
    assert (random.getstate(), repr(np.random.get_state())) == states  # noqa: NPY002
    assert said == ["heard again"]
    assert sys.modules["recbole.trainer.trainer"].get_tensorboard is get_tensorboard


def test_nothing_is_left_behind_after_an_error(shop: dc.Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["discreet", "--k=7"])
    with pytest.raises(EvaluationError, match=r"recbole:Popular\.fit raised RuntimeError: nothing to learn"):
        of_library("recbole:Popular", {"epochs": 0}).fit(shop)
    assert not SEEN["folder"].exists()
    assert sys.argv == ["discreet", "--k=7"]


def test_settings_and_names(shop: dc.Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    assert RecBoleModel("Popular", {"seed": 7}, epochs=2).settings == {"seed": 7, "epochs": 2}
    with pytest.raises(UsageError, match="data_path cannot be set"):
        of_library("recbole:Popular", {"data_path": "/srv"})
    with pytest.raises(UsageError, match="recbole has no model 'BPR'") as caught:
        of_library("recbole:BPR")
    assert caught.value.remedy == "There are: Pairs, Popular."
    monkeypatch.setattr(np, "__version__", "2.3.1")
    with pytest.raises(UsageError, match="RecBole needs NumPy 1; this is NumPy 2"):
        RecBoleModel("Popular").fit(shop)


def test_evaluated_attacked_and_audited_by_name() -> None:
    films = dc.synthetic.films(users=80, items=20, seed=7)
    found = dc.evaluate({"RecBole": "recbole:Popular"}, films, k=5, splits=1, progress=False)
    assert 0 < found.value("recall@5", "RecBole") <= 1
    report = dc.audit("recbole:Popular", films, attacks="canary-predictions", runs=2, processes=1, progress=False)
    assert report.model == "recbole:Popular"
