from __future__ import annotations

import numpy as np
import torch

from graphcondense.datasets.digits import image_graphs, load_digits


def test_pixels_become_nodes_and_neighbours_edges() -> None:
    image = np.zeros((1, 3, 5))
    image[0, 0, 0], image[0, 1, 1], image[0, 1, 3], image[0, 2, 2] = 16, 8, 4, 2
    loose = image_graphs(image, np.array([3]))
    assert loose.x is not None
    assert loose.x.tolist() == [[1.0, 0.0, 0.0], [0.5, 0.5, 0.25], [0.25, 0.5, 0.75], [0.125, 1.0, 0.5]]
    assert {tuple(e) for e in loose.edge_index.t().tolist()} == {(0, 1), (1, 0), (1, 3), (3, 1), (2, 3), (3, 2)}
    assert loose.num_nodes.tolist() == [4]


def test_edges_are_those_of_a_plain_loop() -> None:
    random = np.random.default_rng(0)
    images = random.integers(0, 3, (4, 8, 8)).astype(float)
    loose = image_graphs(images, np.zeros(4, dtype=np.int64))
    places = [(i, r, c) for i in range(4) for r in range(8) for c in range(8) if images[i, r, c] > 0]
    number = {place: n for n, place in enumerate(places)}
    expected = {
        (number[i, r, c], number[i, r + dr, c + dc])
        for i, r, c in places
        for dr in (-1, 0, 1)
        for dc in (-1, 0, 1)
        if (dr or dc) and (i, r + dr, c + dc) in number
    }
    edges = [tuple(e) for e in loose.edge_index.t().tolist()]
    assert set(edges) == expected
    assert len(edges) == len(expected)


def test_digits_have_the_stated_statistics() -> None:
    task = load_digits()
    assert task.graphs.num_graphs == 1_797
    assert task.num_classes == 10
    assert task.metric == "accuracy"
    assert round(task.graphs.num_nodes.double().mean().item(), 2) == 32.69
    assert round(task.graphs.num_edges.double().mean().item(), 2) == 88.98
    assert (task.graphs.x.min(), task.graphs.x.max()) == (0, 1)
    assert [len(part) for part in (task.train, task.val, task.test)] == [1_439, 179, 179]
    assert (task.test.y.bincount() >= 17).all()
    assert not torch.equal(task.split.test, load_digits(split_seed=1).split.test)
