"""Textbook filter and smoother, with inverses; results are returned, arguments unchanged."""

import numpy as np


def _moved(A, Q, K, m, P):
    A, Q = np.kron(A, np.eye(K.shape[1])), sum(map(np.kron, Q, K))
    return A, m @ A.T, A @ P @ A.T + Q


def filter(move, A, Q, K, start, site, Y, R, m, P):
    """Return the sums, and means and covariances after each time: Joseph's form."""
    k, N = m.shape
    sums, means, covariances = np.zeros((k, k + 1)), [], []
    for i, u in enumerate(move):
        _, m, P = _moved(A[u], Q[u], K, m, P)
        rows = slice(start[i], start[i + 1])
        H = np.eye(N)[site[rows]]
        S = H @ P @ H.T + np.diag(R[rows])
        gain = P @ H.T @ np.linalg.inv(S)
        e = Y[rows].T - m @ H.T
        sums[:, :k] += e @ np.linalg.inv(S) @ e.T
        sums[0, k] += np.linalg.slogdet(S)[1] if len(S) else 0.0
        m = m + e @ gain.T
        rest = np.eye(N) - gain @ H
        P = rest @ P @ rest.T + gain @ np.diag(R[rows]) @ gain.T
        means.append(m)
        covariances.append(P)
    return sums, np.array(means), np.array(covariances)


def smooth(move, A, Q, K, kept_m, kept_P):
    """Return smoothed means and covariances at each time: Rauch, Tung and Striebel."""
    means, covariances = [kept_m[-1]], [kept_P[-1]]
    for i in range(len(move) - 2, -1, -1):
        u, m, P = move[i + 1], kept_m[i], kept_P[i]
        F, ahead_m, ahead_P = _moved(A[u], Q[u], K, m, P)
        G = P @ F.T @ np.linalg.inv(ahead_P)
        means.insert(0, m + (means[0] - ahead_m) @ G.T)
        covariances.insert(0, P + G @ (covariances[0] - ahead_P) @ G.T)
    return np.array(means), np.array(covariances)
