"""What users give a regressor, checked, and what they get; see ``sktvbo/_limits.py``."""

import numpy as np
from sklearn.utils.validation import validate_data

from .._validation import LARGEST_X, LARGEST_Y, check_size, invalid
from ._dates import NUMBERS, check_kinds, columns_of, numeric_times, read_times


def validated(estimator, X, y="no_validation", *, reset=False):
    """X, or X and y, as an estimator takes them: numbers of moderate size, copied, no masks."""
    has_y = not (isinstance(y, str) and y == "no_validation")
    if _is_plain(estimator, [X, y] if has_y else [X], reset):
        if not has_y:
            return check_size(np.ascontiguousarray(X), "X", LARGEST_X)
        estimator.n_features_in_ = X.shape[1]
        if reset:
            estimator.time_kinds_ = {}
        X = check_size(X.copy(order="C"), "X", LARGEST_X)
        return X, check_size(y.copy(), "y", LARGEST_Y)
    X, kinds = numeric_times(_distinct(_unmasked(X, "X")), estimator.time_unit)
    _check_columns(X)
    options = {"dtype": np.float64, "order": "C", "reset": reset}
    if not has_y:
        X = validate_data(estimator, X, **options)
    else:
        targets = np.asarray(y)
        if targets.ndim and read_times(targets, estimator.time_unit, "y")[0] != NUMBERS:
            raise invalid("y", "numbers", got="dates or durations")
        X, y = validate_data(estimator, X, _unmasked(y, "y"), y_numeric=True, **options)
    if reset:
        estimator.time_kinds_ = kinds
    names = getattr(estimator, "feature_names_in_", ())
    check_kinds(kinds, estimator.time_kinds_, names)
    if not has_y:
        return check_size(X, "X", LARGEST_X)
    X, y = check_size(X.copy(), "X", LARGEST_X), y.astype(np.float64)
    return X, check_size(y, "y", LARGEST_Y)


def _is_plain(estimator, arrays, reset):
    """Whether scikit-learn's checks, which take as long as some likelihoods, would find nothing."""
    for array in arrays:
        if not (type(array) is np.ndarray and array.dtype == np.float64):
            return False
        if not np.isfinite(array).all():
            return False
    X, *y = arrays
    if X.ndim != 2 or not X.size or any(array.shape != X.shape[:1] for array in y):
        return False
    if hasattr(estimator, "feature_names_in_"):
        return False
    return reset or (estimator.n_features_in_ == X.shape[1] and not estimator.time_kinds_)


def _check_columns(X):
    """Raise an error that names a column of X that is not made of numbers."""
    for label, column in columns_of(X):
        values = np.asarray(column)
        if values.dtype.kind in "biufc":
            continue
        try:
            values.astype(np.float64)
        except (TypeError, ValueError) as exc:
            dtype = getattr(column, "dtype", values.dtype)
            raise invalid(
                f"Column {label!r}",
                "numbers or dates",
                got=f"dtype {dtype} ({exc})",
                advice="Convert text by pandas.to_datetime or pandas.to_numeric, a Period by "
                ".dt.to_timestamp(), and categories by an encoder such as OneHotEncoder.",
                error=type(exc),
            ) from exc


def finite_posterior(found, *names):
    """What a posterior has returned, one array or several of these names, which are finite."""
    for name, values in zip(names, found if isinstance(found, tuple) else [found]):
        if not np.isfinite(values).all():
            raise invalid(
                f"The posterior {name}",
                "finite",
                got=f"{np.count_nonzero(~np.isfinite(values))} NaN or infinity",
                advice="Scale X and y to moderate ranges, or check the kernels at these places.",
            )
    return found


def _distinct(X):
    """What a user gave, unless it is a data frame of which two columns have one name."""
    names = [label for label, _ in columns_of(X)]
    if len(set(names)) < len(names):
        raise invalid("X", "a data frame with unique column names", names)
    return X


def _unmasked(array, name):
    """What a user gave, unless some of it is masked: scikit-learn would take what is below."""
    if np.ma.is_masked(array):
        raise invalid(name, "without masked values", got="some that are masked")
    return array
