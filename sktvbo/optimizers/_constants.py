"""Constants of measured limits and safety, in one table.

The last column names the study that a value comes from: a section of
``benchmarks/results/limits.rst`` ("long runs", "parts" of the method, "violators"), or the outcomes
that become "steep" in ``docs/guide/guarantees.rst``; "set" is a value that was not studied.
`sktvbo._fast.limits` has STEEPNESS (parts), CAUTION and FARTHEST (set), and
`sktvbo.domain._search_space` the effort of a search among certified places (parts).
"""

# --- the probability that limits hold: _feasibility -----------------------------------------------

UNDERSTATED = 1.1  # factor of learnt deviations, which are too small                      long runs
LEAST = 0.4  # least deviation, as a part of the noise                                     parts
REACH = 0.5  # least prior deviation, over the median distance to the limit                parts
WIDEST = 2.0  # largest factor for it, unless all values are of one place                  parts
MIN_DIFFERENCES = 10  # rows whose differences show the noise                              set
NOISE_MARGIN = 2.0  # deviations of the noise beyond a limit that may be noise             long runs
UNKNOWN = 0.5  # data say little where this part of the prior variance is left             set
SURE = 0.99  # unless all limits hold there with this probability                          set
OPTIMISM = 1.0  # deviations by which outcomes are better, if no limit holds               set

# --- certified places: _feasibility ---------------------------------------------------------------

VARIES = 0.5  # an outcome varies: by this part of its distance to the limit               set
UNSEEN = 0.05  # before, certified places are so near to known ones, in ranges             steep
WIDE = 0.5  # if known places differ so much, certified ones are anywhere                  set
ROUNDING = 1e-2  # of the log weight of a query on the boundary                            set
LARGEST_EXCESS = 4.4  # of the factor of deviations: no place is certified                 long runs
RATE = 0.5  # growth of this factor with a violation                                       long runs
NEAR = 0.1  # longest step to a place that is not certified, in ranges                     set
STEP = 0.6  # the next integer, or member, is a step if it is nearer                       set

# --- queries: _limits, _outcomes ------------------------------------------------------------------

NEARER = 0.5  # initial points over their distance from what was beyond a limit            set
EXPAND_EVERY = 3  # one of these queries is certified, nearest to the best place           parts
N_REMEMBERED = 256  # latest observations that are violations of start points              set
REFUSALS = 2  # queries in turn that are not certified, before a warning                   set
CALM = 10  # certified queries before another warning                                      set

# --- weights of scores: _chance, _suggest ---------------------------------------------------------

N_DRAWN = 64  # candidates of one random query                                             set
N_FLOOR = 64  # random places over which the score of a failure is minimized               violators
HOPELESS = 0.05  # places with a smaller probability are known to fail                     violators
