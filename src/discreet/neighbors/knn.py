"""The published neighbor models: the nearest, anybody, nPNS, the exponential mechanism, PNCF, PPNS and its variant.

``reading="printed"`` is what "as published" means for the models of Zhu's comparison. None of these models has a proved
guarantee; ``PrivateItemKNN`` has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from discreet.neighbors import selection
from discreet.neighbors.neighbor_model import NeighborModel
from discreet.neighbors.profiles import Axis
from discreet.neighbors.readings import AS_READ, Laplace, ReadModel
from discreet.neighbors.selection import SelectionStrategy
from discreet.neighbors.selection.exponential import Sensitivity
from discreet.neighbors.selection.lists import Ties
from discreet.neighbors.similarity import Similarity
from discreet.privacy.numbers import Rational

__all__ = ["KNN", "NPNS", "PNCF", "PPNS", "AssuredPPNS", "NaiveExponentialNeighbors", "UniformNeighbors"]


@dataclass(kw_only=True)
class KNN(ReadModel):
    """The k most similar neighbors.

    Parameters
    ----------
    k, similarity, axis, weighting, fallback, new_users
        As in ``NeighborModel``.
    reading, candidates, centering
        As in ``ReadModel``.
    ties
        Who goes first among equals: "id", the lower id, so that answers do not depend on a draw, or "random".

    Privacy
    -------
    None. Recommendations can be turned into ratings of single people by whoever opens a few accounts.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=200, items=40, seed=7)
    >>> model = KNN(k=20).fit(films)
    >>> model.recommend(["u17"], n=3).columns
    ['user_id', 'item_id', 'score', 'rank']
    >>> model.predict(["film-9"], history={"film-3": 5, "film-8": 4})["score"].is_between(1, 5).all()
    True
    >>> print(model.guarantee)
    None
    """

    name: ClassVar[str] = "knn"
    ties: Ties = "id"

    def strategy(self) -> SelectionStrategy:
        return self._as(selection.Nearest)


@dataclass(kw_only=True)
class UniformNeighbors(ReadModel):
    """k neighbors at random, weighed by their similarity: the baseline that every private choice must beat.

    Parameters
    ----------
    k, similarity, axis, weighting, fallback, new_users
        As in ``NeighborModel``.
    reading, candidates, centering
        As in ``ReadModel``.

    Privacy
    -------
    None is claimed. The choice looks at nothing but who is a candidate, but similarities and ratings of the chosen go
    into the prediction as they are.
    """

    name: ClassVar[str] = "uniform-neighbors"

    def strategy(self) -> SelectionStrategy:
        return self._as(selection.Uniform)


@dataclass(kw_only=True)
class NPNS(NeighborModel):
    """Probabilistic neighbor selection (nPNS): k neighbors drawn in proportion to their similarity.

    Parameters
    ----------
    k, similarity, axis, candidates, centering, weighting, fallback, new_users
        As in ``NeighborModel``.
    beta
        Draw from the beta·k most similar only; None for all candidates.
    floor
        The least weight in the draw. With 0, as published, nobody with a similarity below 0 is drawn.
    ties
        Who is among the beta·k most similar, among equals: "random", a coin for each question, or "id", the lower id.

    Privacy
    -------
    None is claimed and none holds: ``tests/refutations/test_npns.py``.

    References
    ----------
    P. Adamopoulos, A. Tuzhilin: On over-specialization and concentration bias of recommendations: probabilistic
    neighborhood selection in collaborative filtering systems. RecSys 2014.
    """

    name: ClassVar[str] = "npns"
    beta: int | None = None
    floor: float = 0.0
    ties: Ties = "random"

    def strategy(self) -> SelectionStrategy:
        return self._as(selection.Probabilistic)


@dataclass(kw_only=True)
class NaiveExponentialNeighbors(ReadModel):
    """The exponential mechanism and Laplace weights that Zhu compares with: GS&NM, or RS&NM.

    Parameters
    ----------
    epsilon
        The budget as the paper divides it: half for the choice, half for the weights.
    k, similarity, axis, weighting, fallback, new_users
        As in ``NeighborModel``.
    reading, candidates, centering
        As in ``ReadModel``.
    rs
        The sensitivity. A number: one for all (GS&NM). "lemma", "exact" or "max": RS of the pairs (RS&NM). None: the
        range of the similarity, 2 for Pearson and the adjusted cosine and 1 for the others.
    rs_cap, smoothing, laplace
        As in ``selection.NaiveExponential``; the noise is as the reading has it, if not said otherwise.

    Privacy
    -------
    Claimed: ε for one target. ``guarantee`` says what became of the claim under the options taken; the noise of
    equation 3.4.1 is too small by the factor k. A fit is charged once, but every further target that is asked about
    costs as much again, whatever the standing.

    References
    ----------
    T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 3.
    """

    name: ClassVar[str] = "naive-exponential"
    epsilon: Rational = field(kw_only=False)
    rs: Sensitivity | None = None
    rs_cap: float | None = None
    smoothing: float = 0.0
    laplace: Laplace = field(default=AS_READ)

    def strategy(self) -> SelectionStrategy:
        signed = self._measure().kind in ("pearson", "cosine_adjusted")
        rs = (2.0 if signed else 1.0) if self.rs is None else self.rs
        return self._as(selection.NaiveExponential, rs=rs)


@dataclass(kw_only=True)
class PNCF(ReadModel):
    """Private neighbor selection with truncated similarities: with ``reading="printed"`` as published; refuted.

    Parameters
    ----------
    epsilon
        The budget as the paper divides it: half for the choice, half for the weights.
    k, similarity, axis, weighting, fallback, new_users
        As in ``NeighborModel``.
    reading, candidates, centering
        As in ``ReadModel``.
    rs, rs_cap, smoothing, laplace, c0, w, rho, beta
        As in ``selection.PNCF``; the noise is as the reading has it, if not said otherwise.

    Privacy
    -------
    Claimed: ε for one target. Refuted: ``guarantee`` names why. ``PrivateItemKNN`` is the proved counterpart.

    References
    ----------
    T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 3.
    T. Zhu, Y. Ren, W. Zhou, J. Rong, P. Xiong: An effective privacy preserving algorithm for neighborhood-based
    collaborative filtering. Future Generation Computer Systems 36 (2014).

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=200, items=40, seed=7)
    >>> model = PNCF(epsilon=1, k=10).fit(films, allow_refuted=True)
    >>> model.guarantee.standing.name
    'REFUTED'
    >>> model.predict([("u17", "film-3")]).equals(model.predict([("u17", "film-3")]))
    True
    >>> published = PNCF(epsilon=1, reading="printed")
    >>> published.candidates, published.centering, published.laplace
    ('all', None, '2k')
    """

    name: ClassVar[str] = "pncf"
    epsilon: Rational = field(kw_only=False)
    rs: Sensitivity = "lemma"
    rs_cap: float | None = None
    smoothing: float = 0.0
    laplace: Laplace = field(default=AS_READ)
    c0: Literal["single", "each"] = "single"
    w: float | None = None
    rho: float = 0.5
    beta: int | None = None

    def strategy(self) -> SelectionStrategy:
        return self._as(selection.PNCF)


@dataclass(kw_only=True)
class PPNS(NeighborModel):
    """Partitioned probabilistic neighbor selection: k − 1 of the k nearest, and one from further down.

    Parameters
    ----------
    epsilon
        The budget that enters the weights within a partition.
    beta, against, rs
        As in ``selection.PPNS``.
    k, similarity, axis, candidates, centering, weighting, fallback, new_users
        As in ``NeighborModel``. The defaults are the thesis': neighbors are users, by the cosine over co-rated items
        (equation 3.2), and ratings count as they are (3.5). It draws neighbors among all users, rated or not:
        ``candidates="all"``.
    ties
        Who goes first among equals: "random", a coin for each question, or "id", the lower id.

    Privacy
    -------
    Claimed: ε for a change of one similarity. Refuted for every ε, and k − 1 sybils read the target's ratings: it keeps
    all but one of the nearest. ``tests/refutations/test_ppns.py``.

    References
    ----------
    Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis,
    University of Adelaide 2015, chapter 5.
    """

    name: ClassVar[str] = "ppns"
    epsilon: Rational = field(kw_only=False)
    similarity: str | Similarity | Mapping[str, Any] = "cosine"
    axis: Axis = "user"
    centering: Literal["mean"] | None = None
    beta: int = 2
    against: Literal["knn", "beta-knn"] = "knn"
    rs: Sensitivity = "lemma"
    ties: Ties = "random"

    def strategy(self) -> SelectionStrategy:
        return self._as(selection.PPNS)


@dataclass(kw_only=True)
class AssuredPPNS(NeighborModel):
    """Accuracy-assured PPNS: fewer neighbors from each further partition, and a least accuracy in every draw.

    A construction after the abstract, not the authors' rule: see ``selection.AssuredPPNS``.

    Parameters
    ----------
    epsilon
        The budget that enters the weights within a partition.
    p
        The share of those still to be found that each partition gives; 1/2 unless told.
    accuracy
        In the place of p: the share of the kNN's summed similarity that every draw must keep.
    rs
        As in ``selection.AssuredPPNS``.
    k, similarity, axis, candidates, centering, weighting, fallback, new_users
        As in ``NeighborModel``, with the defaults of ``PPNS``.
    ties
        Who goes first among equals: "random", a coin for each question, or "id", the lower id.

    Privacy
    -------
    The thesis calls its algorithm differentially private; this construction is refuted for every ε
    (``tests/refutations/test_ppns_assured.py``). Sybils read the target's ratings with it, too: the first partition
    gives the share p of its members.

    References
    ----------
    Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis,
    University of Adelaide 2015: abstract, sections 1.2 and 3.5, titles of Figures 4.1 to 4.4.
    Z. Lu, H. Shen: An accuracy-assured privacy-preserving recommender system for Internet commerce. ComSIS 12 (2015).

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=200, items=40, seed=7)
    >>> model = AssuredPPNS(epsilon=1, k=10, p="3/10").fit(films, allow_refuted=True)
    >>> model.guarantee.basis[:58]
    "a construction after the abstract, not the authors' rule; "
    """

    name: ClassVar[str] = "ppns-assured"
    epsilon: Rational = field(kw_only=False)
    similarity: str | Similarity | Mapping[str, Any] = "cosine"
    axis: Axis = "user"
    centering: Literal["mean"] | None = None
    p: Rational | None = None
    accuracy: float | None = None
    rs: Sensitivity = "lemma"
    ties: Ties = "random"

    def strategy(self) -> SelectionStrategy:
        return self._as(selection.AssuredPPNS)
