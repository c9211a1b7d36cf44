"""Limits of numbers, and the treatment of difficult ones, with the constants.

1. Inputs (X, also in units of the lengthscales, times and y) are finite and at most 1e100 in
   absolute value, so that squares and differences are finite. Other numbers are refused, by name,
   before anything changes.
2. Outputs are finite, or an error says why they cannot be. What is too small for a float is 0.
3. Inside, units are taken out. Time counts from the first observation; standardized y, and the
   sums of the relevancy, are in units of their own size. Where such a unit is not taken from the
   data's standard deviation it is a power of two, which changes no digit: with ``normalize_y``, y
   times 2^k gives predictions times 2^k to the bit, and the same hyperparameters and relevancies.
4. y whose spread is in the last digit or two of its size, or below 1e-150, is constant: it is not
   standardized by its rounding errors, but has the scale 1.
5. A covariance matrix that is not positive definite is helped by adding to its diagonal 1e-10 of
   the mean prior variance, then ten times as much, and so on to 1e-4, with one warning that states
   the amount; then an error names the kernel and the remedy. That is decided in ``_solvers`` alone.
6. Relevancies tell no observations apart that determine each other to within 1e-8 of the signal
   variance (a standard deviation of 1e-4): such observations are ranked as if they had that much
   more noise. Smaller differences are lost in the rounding of the convolutions.
7. Variances that rounding has made negative are 0.
8. Correlations are computed in the units of the lengthscales, and fall to 0 without overflow at any
   distance and in any number of dimensions.
"""

LARGEST_X = LARGEST_Y = 1e100

FIRST_JITTER, LAST_JITTER = 1e-10, 1e-4

RESOLUTION = 1e-8
