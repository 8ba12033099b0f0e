"""Constants of Adam, for the optimiser and for the compiled steps of the paper's protocol."""

# Adam's second moment averages over about 100 steps: within a few hundred, scales change as the radius grows.
BETA1, BETA2 = 0.9, 0.99
# Relative to the largest squared gradient: a leaf with less is at rest, and must not be moved a full step by rounding noise.
REST = 1e-24
