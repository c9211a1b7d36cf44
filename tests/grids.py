"""Small grids of parameters, in place of full products."""

from itertools import combinations, product


def pairs_of(*columns):
    """Return a few rows of a product: any two values of two columns meet in one of them."""
    columns = [list(column) for column in columns]
    places = product(*(range(len(column)) for column in columns))
    rows = {place: set(combinations(enumerate(place), 2)) for place in places}
    missing, chosen = set().union(*rows.values()), []
    while missing:
        best = max(rows, key=lambda place: len(rows[place] & missing))
        missing -= rows.pop(best)
        chosen.append(tuple(column[i] for column, i in zip(columns, best)))
    return chosen
