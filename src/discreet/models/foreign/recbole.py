"""Models of RecBole by the names that it has for them.

RecBole is a framework around its models: it reads files, takes its settings from files and from the command line of
whatever program runs it, and writes logs and checkpoints into the working folder. Here it reads atomic files in a
temporary folder, takes the settings that it is given and no others, and leaves nothing behind.
"""

from __future__ import annotations

import copy
import logging
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.models.foreign.libraries import ScoringModel, load

__all__ = ["RecBoleModel"]

FILE = "records"
OURS = ("data_path", "dataset", "model", "load_col", "eval_args", "checkpoint_dir", "benchmark_filename")
"""Settings of RecBole that say which records it learns from, and where it writes."""

BATCH = 2**20
"""Scores that are computed at a time."""


@dataclass(init=False)
class RecBoleModel(ScoringModel):
    """A general recommender of RecBole: BPR, EASE, ItemKNN, LightGCN, NeuMF, MultiVAE and others.

    Parameters
    ----------
    model
        The name of one of ``recbole.model.general_recommender``.
    settings
        Settings of RecBole and of the model, by the names that its documentation has: ``epochs=20``,
        ``embedding_size=32``, ``seed=7``. Others keep RecBole's defaults.

    Notes
    -----
    It learns from all records that it is handed. None are set aside to decide when to stop: it trains for ``epochs``
    epochs, 300 where nothing else is said. Every record counts as an interaction whatever its rating, but for models
    with a setting that says otherwise. Items and users without records have no scores. RecBole seeds its random
    numbers, with 2020 unless ``seed`` says otherwise.

    Needs NumPy 1 and pandas 2, as RecBole 1.2.1 does.

    Examples
    --------
    >>> model = RecBoleModel("BPR", epochs=20)
    >>> model.fit(films).recommend(["u1"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "recbole"

    model: str = "BPR"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __init__(self, model: str = "BPR", settings: Mapping[str, Any] | None = None, **more: Any) -> None:
        self.model = model
        self.settings = {**(settings or {}), **more}
        if fixed := [name for name in self.settings if name in OURS]:
            raise UsageError(
                f"{', '.join(fixed)} cannot be set: discreet hands the records over.", remedy="Leave it out."
            )

    @classmethod
    def named(cls, kind: Callable[..., Any], settings: Mapping[str, Any]) -> Self:
        """One of RecBole's models, found by its name."""
        return cls(kind.__name__, settings)

    def _fit(self, data: Interactions) -> None:
        if not np.__version__.startswith("1."):
            raise UsageError(
                f"RecBole needs NumPy 1; this is NumPy {np.__version__}.",
                remedy="In an environment of its own: pip install 'discreet[recbole]'.",
            )
        with tempfile.TemporaryDirectory(prefix="discreet-recbole-") as folder, _kept_apart():
            self.scores_ = _trained(self.model, copy.deepcopy(dict(self.settings)), data, Path(folder))


def _trained(model: str, settings: dict[str, Any], data: Interactions, folder: Path) -> Callable[[Codes], Floats]:
    """Train a model as ``recbole.quick_start`` does, but for the split; what scores all items for users."""
    config_of, utils = load("recbole.config", "recbole").Config, load("recbole.utils", "recbole")
    datasets, loaders = load("recbole.data", "recbole"), load("recbole.data.utils", "recbole")
    columns = _written(data, folder)
    given = {
        "gpu_id": "",
        "show_progress": False,
        **settings,
        "data_path": str(folder),
        "checkpoint_dir": str(folder / "saved"),
        "load_col": {"inter": columns},
        "eval_args": {"split": {"RS": [1, 0, 0]}, "order": "RO", "group_by": None, "mode": "full"},
    }
    config = config_of(model=model, dataset=FILE, config_dict=given)
    utils.init_seed(config["seed"], config["reproducibility"])
    dataset = datasets.create_dataset(config)
    parts = dataset.build()
    sampler, *_ = loaders.create_samplers(config, dataset, parts)
    train = loaders.get_dataloader(config, "train")(config, parts[0], sampler, shuffle=config["shuffle"])
    utils.init_seed(config["seed"], config["reproducibility"])
    made = utils.get_model(config["model"])(config, train._dataset).to(config["device"])
    trainer = utils.get_trainer(config["MODEL_TYPE"], config["model"])(config, made)
    trainer.fit(train, None, verbose=False, saved=False, show_progress=False)
    made.eval()
    return _Scores(made, dataset, config["device"], data)


def _written(data: Interactions, folder: Path) -> list[str]:
    """Write the records as an atomic file of RecBole; the names of its columns."""
    columns: dict[str, Any] = {"user_id:token": data.user, "item_id:token": data.item}
    if data.rating is not None:
        columns["rating:float"] = data.rating.astype(np.float64)
    if data.timestamp is not None:
        columns["timestamp:float"] = data.timestamp.astype(np.float64)
    (folder / FILE).mkdir()
    pl.DataFrame(columns).write_csv(folder / FILE / f"{FILE}.inter", separator="\t")
    return [name.partition(":")[0] for name in columns]


class _Scores:
    """Scores of all items, by the codes of users and items, of a trained model; NaN where it knows one of them not."""

    def __init__(self, model: Any, dataset: Any, device: Any, data: Interactions) -> None:
        self.model, self.device, self.dataset = model, device, dataset
        # RecBole numbers users and items as they come; its number 0 is nobody.
        self.users = self._numbers(dataset.uid_field, data.n_users)
        self.items = self._numbers(dataset.iid_field, data.n_items)

    def _numbers(self, name: str, size: int) -> Integers:
        known = self.dataset.field2token_id[name]
        return np.array([known.get(str(code), 0) for code in range(size)], dtype=np.int64)

    def __call__(self, codes: Codes) -> Floats:
        scores = np.full((codes.size, self.items.size), np.nan)
        numbers = self.users[codes]
        known, step = np.flatnonzero(numbers), max(1, BATCH // max(1, self.items.size))
        for begin in range(0, known.size, step):
            rows = known[begin : begin + step]
            scores[rows] = np.where(self.items > 0, self._asked(numbers[rows])[:, self.items], np.nan)
        return scores

    def _asked(self, users: Integers) -> Floats:
        torch, interactions = load("torch", "recbole"), load("recbole.data.interaction", "recbole")
        size = self.dataset.item_num
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = interactions.Interaction({self.dataset.uid_field: torch.tensor(users)}).to(self.device)
            try:
                told = self.model.full_sort_predict(asked)
            except NotImplementedError:
                asked = asked.repeat_interleave(size)
                every = torch.arange(size, device=self.device).repeat(users.size)
                asked.update(interactions.Interaction({self.dataset.iid_field: every}))
                told = self.model.predict(asked)
        return np.asarray(told.detach().cpu(), dtype=np.float64).reshape(users.size, size)


@contextmanager
def _kept_apart() -> Iterator[None]:
    """RecBole without the arguments of this program, its logs and its files; random states stay what they were."""
    torch: Any = load("torch", "recbole")
    trainer: Any = load("recbole.trainer.trainer", "recbole")
    matrices: Any = load("scipy.sparse", "recbole").dok_matrix
    arguments, disabled, tensorboard = sys.argv, logging.root.manager.disable, trainer.get_tensorboard
    devices, states = os.environ.get("CUDA_VISIBLE_DEVICES"), (random.getstate(), np.random.get_state())  # noqa: NPY002
    added = not hasattr(matrices, "_update")  # from SciPy 1.13 on; models on graphs call it
    silent = SimpleNamespace(add_scalar=_nothing, add_hparams=_nothing)
    try:
        sys.argv = sys.argv[:1]
        logging.disable(logging.WARNING)
        trainer.get_tensorboard = lambda logger: silent
        if added:
            matrices._update = _set_entries
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")  # of pandas and torch, about what RecBole does
            yield
    finally:
        sys.argv, trainer.get_tensorboard = arguments, tensorboard
        logging.disable(disabled)
        if added:
            del matrices._update
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        if devices is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = devices


def _set_entries(matrix: Any, entries: Mapping[tuple[int, int], float]) -> None:
    """Entries of a sparse matrix by their places."""
    rows, columns = np.array(list(entries), dtype=np.int64).reshape(-1, 2).T
    matrix[rows, columns] = np.array(list(entries.values()))


def _nothing(*given: Any, **more: Any) -> None:
    """Stands for TensorBoard, which would write into the working folder."""
