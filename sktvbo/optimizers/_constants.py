"""Constants of measured limits and safety, in one table.

The last column names the study that a value comes from: a section of
``benchmarks/results/limits.rst`` ("long runs", "parts" of the method, "violators"), or the outcomes
that become "steep" in ``docs/guide/guarantees.rst``; "set" is a value that was not studied.
`sktvbo._fast.limits` has STEEPNESS (parts), CAUTION and FARTHEST (set), and
`sktvbo.domain._search_space` the effort of a search among certified inputs (parts).
"""

# --- the probability that limits hold: _feasibility -----------------------------------------------

UNDERSTATED = 1.1  # factor of learnt deviations, which are too small                      long runs
LEAST = 0.4  # least deviation, as a part of the noise                                     parts
REACH = 0.5  # least prior deviation, over the median distance to the limit                parts
WIDEST = 2.0  # largest factor for it, unless all values are of one input                  parts
MIN_DIFFERENCES = 10  # rows whose differences show the noise                              set
NOISE_MARGIN = 2.0  # deviations of the noise beyond a limit that may be noise             long runs
UNKNOWN = 0.5  # little is known where this part of the prior variance is left             set
SURE = 0.99  # unless all limits hold there with this probability                          set
OPTIMISM = 1.0  # deviations by which outcomes are better, if no limit holds               set

# --- certified inputs: _feasibility ---------------------------------------------------------------

VARIES = 0.5  # an outcome varies: by this part of its distance to the limit               set
UNSEEN = 0.05  # until then, largest distance from a known input, in ranges                steep
WIDE = 0.5  # all inputs may be certified if known ones differ by this                     set
ROUNDING = 1e-2  # of the log weight of a query on the boundary                            set
LARGEST_EXCESS = 4.4  # of the factor of deviations: no input is certified                 long runs
RATE = 0.5  # growth of this factor with a violation                                       long runs
NEAR = 0.1  # longest step to an input that is not certified, in ranges                    set
STEP = 0.6  # the next integer, or member, is a step if it is nearer                       set

# --- queries: _limits, _outcomes ------------------------------------------------------------------

NEARER = 0.5  # distance from inputs within limits, over that from those beyond            set
EXPAND_EVERY = 3  # one of these queries is certified, nearest to the best input           parts
N_REMEMBERED = 256  # latest observations that may rule out a start point                  set
REFUSALS = 2  # successive queries that are not certified, before a warning                set
CALM = 10  # certified queries before another warning                                      set

# --- weights of scores: _chance, _suggest ---------------------------------------------------------

N_DRAWN = 64  # candidates of one random query                                             set
N_FLOOR = 64  # random inputs over which the score of a failure is minimized               violators
HOPELESS = 0.05  # inputs with a smaller probability are known to fail                     violators
