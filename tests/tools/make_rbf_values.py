#!/usr/bin/env python3
"""Writes tests/bake/rbf_values.h: weights of radial basis functions as scipy's RBFInterpolator
(degree -1: plain kernel weights) computes them, on one hinge and on translations.

Needs Debian's python3-scipy: /usr/bin/python3 tests/tools/make_rbf_values.py > tests/bake/rbf_values.h
"""
import warnings

import numpy as np
from scipy.interpolate import RBFInterpolator

warnings.simplefilter("ignore")
KERNELS = {"linear": "linear", "gaussian": "gaussian", "thin_plate": "thin_plate_spline",
           "multiquadric": "multiquadric", "inverse_multiquadric": "inverse_multiquadric"}
HINGE_DEG = np.array([[0.0], [25.0], [60.0], [100.0]])
HINGE_QUERIES = np.array([[-20.0], [0.0], [12.5], [40.0], [83.0], [100.0], [130.0]])
PLACES = np.array([[0, 0, 0], [0.2, 0, 0.1], [-0.1, 0.3, 0], [0.1, 0.1, -0.25]])
PLACE_QUERIES = np.array([[0, 0, 0], [0.1, 0.1, 0.1], [0.2, 0, 0.1], [-0.3, 0.2, -0.1]])
RADIUS = 0.7


def weights(centers, queries, kernel):
    rbf = RBFInterpolator(centers / RADIUS, np.eye(len(centers)), kernel=KERNELS[kernel], epsilon=1, degree=-1)
    return rbf(queries / RADIUS)


def table(name, rows):
    body = ",\n    ".join("{" + ", ".join(f"{x:.17g}" for x in row) + "}" for row in rows)
    return f"static const double {name}[][{len(rows[0])}] = {{\n    {body}}};\n"


print("// Made by tests/tools/make_rbf_values.py (scipy's RBFInterpolator, degree -1).")
print("// clang-format off")
print(f"#define RBF_RADIUS {RADIUS}")
print(table("rbf_hinge_deg", HINGE_DEG), table("rbf_hinge_queries", HINGE_QUERIES),
      table("rbf_places", PLACES), table("rbf_place_queries", PLACE_QUERIES), sep="")
for kernel in KERNELS:
    print(table(f"rbf_hinge_{kernel}", weights(np.radians(HINGE_DEG), np.radians(HINGE_QUERIES), kernel)),
          table(f"rbf_place_{kernel}", weights(PLACES, PLACE_QUERIES, kernel)), sep="")
