"""Numbers that both coding kernels share: where rounding begins, and the reasons to stop.

The compiled kernel keeps them in its cache, which follows only its own file: after a change here, touch
`_kernel_numba.py`.
"""

# A correlation with the residual below this share of the signal's norm is float32 rounding.
ROUNDING = 1e-6

# An atom whose squared distance from the span of the chosen ones is at most this is dependent on them: a
# duplicate, or so nearly parallel that float32 could not tell its coefficient. It is passed over.
DEPENDENT = 1e-5

STOP_AT_BOUND = 0  # the error is within its bound
STOP_AT_LIMIT = 1  # as many atoms as allowed, the error is still above its bound
STOP_STALLED = 2  # no independent atom correlates with what is left of the signal
STOP_ZERO = 3  # the signal is zero: a patch without contrast
