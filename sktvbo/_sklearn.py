"""Base classes of scikit-learn, with type hints for mypy.

scikit-learn has no type hints, and mypy accepts every attribute of a class whose base it does not
know. Other type checkers have hints for it, by which functions of scikit-learn take these classes.
"""

MYPY = False  # mypy takes this name for true

if MYPY:
    from typing import Any, Self

    from numpy.typing import ArrayLike

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...

    class MetaEstimatorMixin: ...

    class RegressorMixin:
        def score(
            self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
        ) -> float: ...
        def set_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_partial_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_predict_request(self, **requests: bool | str | None) -> Self: ...
        def set_score_request(self, **requests: bool | str | None) -> Self: ...


if not MYPY:  # after "else" pyrefly would derive from either class, and accept every attribute
    from sklearn.base import BaseEstimator as _BaseEstimator
    from sklearn.base import MetaEstimatorMixin, RegressorMixin

    from ._documentation import documentation_page

    class BaseEstimator(_BaseEstimator):
        """scikit-learn's, whose HTML view links this project's documentation."""

        _doc_link_module = "sktvbo"
        _doc_link_template = "{page}"

        def _doc_link_url_param_generator(self):
            return {"page": documentation_page(type(self))}


__all__ = ["BaseEstimator", "MetaEstimatorMixin", "RegressorMixin"]
