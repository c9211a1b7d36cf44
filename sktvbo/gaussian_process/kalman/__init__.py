"""Kalman filter and smoother: the exact posterior, linear in the number of rows."""
