"""``HypHCClassifier``: semi-supervised classification on the leaves of a learned tree."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._runtime.arrays import Floats, Ints
from .._runtime.base_estimator import check_parameter_names, fresh_fit
from .._runtime.validation import require_choice
from ..hyperbolic.decode import decode
from ..similarity import Similarity, as_similarity, unit_rows
from .training import Range, TrainingSettings, fit_leaves_and_head

UNLABELLED = -1
METRICS = ("cosine", "precomputed")
# Joint training can fit every label. Far out, scores change steeply with a leaf's place, and certainty about labels moves
# boundaries away from the data: smooth labels near the origin generalise better. A tree without
# labels needs the room, and its leaves do not follow the labels.
JOINT: dict[str, Any] = {"radius": (1.0, 2.0), "label_smoothing": 0.1, "head_iter": 0}
TWO_STEP: dict[str, Any] = {"radius": (1.0, 6.0), "label_smoothing": 0.0, "head_iter": 300}
# Similarities of new points to fitted ones that are held at once: 32 MB.
PART = 1 << 22


class HypHCClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Classify the leaves of a hyperbolic hierarchy, some of which have labels.

    All points, labelled or not, are leaves in the Poincaré ball at one radius and share the clustering loss of
    HypHC; a hyperbolic logistic regression (Ganea et al.) reads classes from their positions. ``joint=True`` minimises

        (mean clustering loss)/(mean similarity) + classification_weight·(mean cross-entropy of the labelled leaves)

    over leaves and regression together (the paper's End-to-End); ``joint=False`` places the leaves first, without
    labels, and fits the regression to them afterwards (Two-Step).

    Parameters
    ----------
    joint : bool
    metric : {"cosine", "precomputed"}
        "cosine" is (1 + cos)/2 of the rows of X, the paper's; "precomputed" means that X holds SIMILARITIES of the
        points, dense (n, n), and that ``predict`` takes those of new points to the fitted ones, (m, n).
    smoothing : float
        Leaves are weighted means of free vectors, with weights proportional to similarity^smoothing, pushed out to
        one radius: labels spread to similar points, a larger power less far. 0 leaves each leaf free, as in the
        paper. O(n²) memory unless 0.
    n_components : int
        Dimension of the ball. 2 can be drawn but has less room for classes to lie side by side; 1 is legal but has
        only two directions.
    classification_weight : float
        Weight of the cross-entropy in the joint loss. Larger fits the labels, smaller keeps to the similarities.
    label_smoothing : float
        Share of each label that the cross-entropy spreads over all classes: a guard against overfitting. Default: 0.1
        in joint training, else 0.
    temperature, radius, learning_rate : float or (first, last)
        Of the clustering loss, of the leaves, and of their steps. τ and the rate go from first to last
        geometrically, the radius linearly: while it is small, leaves can pass each other. By default the radius ends at
        2 in joint training, where a gentle boundary generalises better, and at 6 otherwise.
    max_iter : int
        Steps that move the leaves.
    head_learning_rate : float
        Of the regression.
    head_iter : int
        Steps of the regression alone, with the leaves where they are, after all others. Default: 0 in joint training,
        else 300.
    block_size : int
        A step's clustering loss takes all triplets inside up to eight random blocks of about this many points; exact up to
        this n.
    n_init : int
        Runs from different random numbers. Class probabilities are means over runs; leaves, tree and regression are
        those of the run with the lowest training loss.
    random_state : int, RandomState or None
        On a CPU, equal seeds give equal results.
    device : str or torch.device
        Where to train, in float64.

    Attributes
    ----------
    classes_ : array (n_classes,)
    transduction_ : array (n,)
        Predicted class of each fitted point.
    label_distributions_ : array (n, n_classes)
        Its class probabilities.
    tree_ : Tree
        Decoded from ``embedding_``.
    embedding_ : array (n, n_components)
        Leaves in the ball.
    head_ : HyperbolicLogisticRegression
    fits_ : list
        All runs, the one with the lowest training loss first.
    loss_curve_ : array (max_iter,)
        The loss at each step that moved the leaves.
    n_iter_ : int
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    ``y`` is −1 where the label is unknown, as in ``sklearn.semi_supervised``; labels that are words have no unknown.
    A new point is embedded by the same weighted mean of the fitted vectors; without smoothing it takes the place of
    the most similar leaf.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.9, 0.2], [0.0, 1.0], [0.1, 1.0], [0.2, 0.9]])
    >>> model = HypHCClassifier(max_iter=50, random_state=0).fit(X, [0, -1, -1, 1, -1, -1])
    >>> model.transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    @check_parameter_names
    def __init__(
        self,
        joint: bool = True,
        *,
        metric: str = "cosine",
        smoothing: float = 6.0,
        n_components: int = 8,
        classification_weight: float = 1.0,
        label_smoothing: float | None = None,
        temperature: Range = (0.7, 0.5),
        radius: Range | None = None,
        learning_rate: Range = (0.3, 0.005),
        max_iter: int = 100,
        head_learning_rate: float = 0.1,
        head_iter: int | None = None,
        block_size: int = 64,
        n_init: int = 1,
        random_state: int | np.random.RandomState | None = None,
        device: Any = "cpu",
    ) -> None:
        self.joint = joint
        self.metric = metric
        self.smoothing = smoothing
        self.n_components = n_components
        self.classification_weight = classification_weight
        self.label_smoothing = label_smoothing
        self.temperature = temperature
        self.radius = radius
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.head_learning_rate = head_learning_rate
        self.head_iter = head_iter
        self.block_size = block_size
        self.n_init = n_init
        self.random_state = random_state
        self.device = device

    def fit(self, X: Any, y: Any) -> Self:
        """Place the leaves and fit the classifier.

        Parameters
        ----------
        X : array (n, d), n ≥ 3
            Features of all points, labelled or not; similarities (n, n) when ``metric="precomputed"``.
        y : array (n,)
            Labels; −1 is unknown.
        """
        with fresh_fit(self):
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=3)
            check_classification_targets(y)
            similarity, plan = self._similarity(X), self._plan()
            codes, labelled = self._encode_labels(y)
            # the similarity of a point to itself: the largest there is
            self._largest_ = 1.0 if self.metric == "cosine" else max(float(X.max()), np.finfo(np.float64).tiny)
            smoother = self._smoother_of_fitted(similarity) if self.smoothing > 0 else None
            seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_init)
            data = similarity, smoother, labelled, codes[labelled]
            fits = [fit_leaves_and_head(*data, plan, int(seed)) for seed in seeds]
            self.fits_ = sorted(fits, key=lambda fit: fit.final_loss)
            best = self.fits_[0]
            self.embedding_, self.head_, self.loss_curve_ = best.place(smoother).cpu().numpy(), best.head, best.losses
            self.n_iter_ = len(self.loss_curve_)
            self.tree_ = decode(self.embedding_)
            self.label_distributions_ = self._probabilities(smoother)
            self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
            self._fitted_ = similarity.features()
            return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the classes (m,) of points (m, d), or of their similarities (m, n) to the fitted points."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities (m, n_classes) of points (m, d), or of their similarities (m, n) to the fitted points."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        step = max(1, PART // len(self.embedding_))
        parts = [self._classify(X[start : start + step]) for start in range(0, len(X), step)]
        return np.concatenate(parts)

    def _classify(self, X: Floats) -> Floats:
        weights = X if self._fitted_ is None else 0.5 + 0.5 * unit_rows(X) @ self._fitted_.T
        if not self.smoothing > 0:
            return np.asarray(self.label_distributions_[weights.argmax(axis=1)])
        return self._probabilities(self._smoother(weights))

    def _probabilities(self, smoother: torch.Tensor | None) -> Floats:
        """Return class probabilities for rows of a smoother (m, n), the mean over runs."""
        runs = [fit.probabilities(fit.place(smoother)) for fit in self.fits_]
        return np.asarray(np.mean(runs, axis=0))

    def _smoother_of_fitted(self, similarity: Similarity) -> torch.Tensor:
        weights = similarity.to_dense()
        np.fill_diagonal(weights, self._largest_)
        return self._smoother(weights)

    def _smoother(self, weights: Floats) -> torch.Tensor:
        """Return similarities (m, n) to the power of smoothing, in rows that sum to 1."""
        powers = np.clip(weights / self._largest_, 0.0, None) ** self.smoothing
        powers += np.finfo(np.float64).tiny  # a row without any similarity gets equal weights, not 0/0
        return torch.from_numpy(powers / powers.sum(axis=1, keepdims=True)).to(self.device)

    def _similarity(self, X: Floats) -> Similarity:
        require_choice("metric", self.metric, METRICS)
        if self.metric == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"metric='precomputed' takes a square matrix of similarities; X has shape {X.shape}.")
        return as_similarity(X, self.metric)

    def _encode_labels(self, y: npt.NDArray[Any]) -> tuple[Ints, Ints]:
        """Set classes_; return a code for each point (0 where unknown), and the labelled points."""
        known = y != UNLABELLED if np.issubdtype(y.dtype, np.number) else np.ones(len(y), dtype=bool)
        if not known.any():
            raise ValueError("All labels are -1, which means unknown; label at least one point.")
        self.classes_ = np.unique(y[known])
        codes = np.searchsorted(self.classes_, np.where(known, y, self.classes_[0]))
        return codes.astype(np.int64), np.flatnonzero(known)

    def _plan(self) -> TrainingSettings:
        if not 0.0 <= self.smoothing < np.inf:
            raise ValueError(f"smoothing={self.smoothing} must be a finite number of at least 0.")
        if self.n_init < 1:
            raise ValueError(f"n_init={self.n_init} must be at least 1.")
        chosen = {field.name: getattr(self, field.name) for field in fields(TrainingSettings)}
        defaults = {name: value for name, value in (JOINT if self.joint else TWO_STEP).items() if chosen[name] is None}
        return TrainingSettings(**chosen | defaults)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        return tags
