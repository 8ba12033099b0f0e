"""An encoder trained with the clustering loss places digits it has never seen.

    python examples/digits_encoder.py [output.png]

A small network maps the 64 pixels of scikit-learn's digits to the Poincaré disk. It is trained on two thirds of them
with `HypHCLoss` on random blocks, without labels; the rest, held out, is placed by one forward pass and decoded to a
tree. Labels only colour the figure and score the trees.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from hyphc import as_similarity, baselines, dasgupta_cost, dendrogram_purity, nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

STEPS, BLOCK = 400, 64
TEMPERATURE, RADIUS = (0.7, 0.5), (1.0, 6.0)


def train(X: np.ndarray, seed: int = 0) -> nn.BallEncoder:
    """Encoder of the rows of X, with the radius growing as it learns."""
    torch.manual_seed(seed)
    width = 128
    network = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, 2),
    )
    encoder = nn.BallEncoder(network, radius=RADIUS[0])
    optimiser = torch.optim.Adam(encoder.parameters(), lr=2e-3)
    features = torch.tensor(X, dtype=torch.float32)
    sampler = nn.BlockSampler(as_similarity(X), BLOCK, random_state=seed)
    for step in range(STEPS):
        done = step / (STEPS - 1)
        encoder.to_ball.set_radius(RADIUS[0] + (RADIUS[1] - RADIUS[0]) * done)
        temperature = TEMPERATURE[0] * (TEMPERATURE[1] / TEMPERATURE[0]) ** done
        index, weights = sampler()
        loss = nn.block_loss(encoder(features)[index], weights, temperature)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 100 == 0 or step == STEPS - 1:
            print(f"step {step:>4}: loss {loss.item():.4f}", flush=True)
    return encoder


def draw(
    encoder: nn.BallEncoder, seen: np.ndarray, held_out: np.ndarray, labels: tuple[np.ndarray, np.ndarray], target: Path
) -> None:
    """Directions of trained and held-out digits, a ring for each class."""
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 5.2), subplot_kw={"aspect": "equal"})
    titles = (f"{len(seen)} digits it was trained on", f"{len(held_out)} held-out digits")
    for axis, X, y, title in zip(axes, (seen, held_out), labels, titles, strict=True):
        with torch.no_grad():
            z = encoder(torch.tensor(X, dtype=torch.float32)).numpy()
        direction = z / np.linalg.norm(z, axis=1, keepdims=True)
        for digit in range(10):
            ring = (0.55 + 0.05 * digit) * direction[y == digit]
            axis.scatter(*ring.T, s=7, color=plt.cm.tab10(digit), label=str(digit))
        axis.add_patch(plt.Circle((0, 0), 1.04, fill=False, color="0.8"))
        axis.set(title=title, xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
        axis.axis("off")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=10, frameon=False, markerscale=2.5)
    figure.text(
        0.5,
        0.1,
        "angle: where the encoder puts a digit on the disk; ring: its class, which the encoder never saw",
        ha="center",
        color="0.4",
    )
    figure.savefig(target, dpi=110, bbox_inches="tight")
    print(f"wrote {target.name}")


def main() -> None:
    default = Path(__file__).resolve().parents[1] / "docs" / "images" / "nn_digits.png"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    X, y = load_digits(return_X_y=True)
    X = (X - X.mean(axis=0)) / 16.0
    seen, held_out, y_seen, y_held_out = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
    encoder = train(seen)
    similarity = as_similarity(held_out)
    trees = {
        "encoder, one forward pass": encoder.decode(torch.tensor(held_out, dtype=torch.float32)),
        "average linkage of the held-out digits": baselines.average_linkage(similarity),
        "random tree": baselines.random_tree(similarity, random_state=0),
    }
    print(f"{'tree of the held-out digits':<40} {'Dasgupta cost':>14} {'purity':>7}")
    for name, tree in trees.items():
        print(f"{name:<40} {dasgupta_cost(tree, similarity):>14.6g} {dendrogram_purity(tree, y_held_out):>7.3f}")
    draw(encoder, seen, held_out, (y_seen, y_held_out), target)


if __name__ == "__main__":
    main()
