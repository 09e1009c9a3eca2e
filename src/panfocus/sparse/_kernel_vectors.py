"""Vectors by hand: the three inner loops of the compiled kernel, with values held in registers.

A compiler puts a plain loop on vectors, but it takes half of their width on many machines, and it writes every
sum to memory between one row and the next. Here LLVM is told which values are vectors and which of them stay
in registers. Each number is still summed by itself, in the order of the plain loop: its bits are the same for
vectors of any width.

Atoms lie in panels of `PANEL`: one after the other, what a loop over rows reads of a panel is contiguous.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

PANEL = 64  # atoms
TILE = 4  # signals that are correlated at a time

_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_FUSED = ("contract",)  # a*b + c may become one operation, as everywhere in the kernel
_NO_SIGN = 0x7FFFFFFF


class _Vectors:
    """Code for vectors of the machine's width."""

    def __init__(self, context: Any, builder: Any) -> None:
        features = context.codegen().magic_tuple()[-1]
        wide, narrow = "+avx512f" in features, "+avx," not in f"{features},"
        self.lanes = 16 if wide else 4 if narrow else 8
        # Vectors of a tile's width: with those of four signals they are half of the machine's registers.
        self.abreast = 4 if wide or "+neon" in features else 2
        self.builder = builder
        self.floats = ir.VectorType(_FLOAT, self.lanes)
        self.ints = ir.VectorType(_INT, self.lanes)

    def splat(self, value: Any) -> Any:
        """Put one number into all lanes."""
        vector = ir.VectorType(value.type, self.lanes)
        one = self.builder.insert_element(ir.Constant(vector, ir.Undefined), value, _INT(0))
        return self.builder.shuffle_vector(one, one, ir.Constant(self.ints, [0] * self.lanes))

    def at(self, pointer: Any, index: Any, n: int = 0) -> Any:
        """Address of the n-th vector after a number."""
        number = self.builder.gep(pointer, [self.builder.add(index, index.type(n * self.lanes))])
        return self.builder.bitcast(number, self.floats.as_pointer())

    def load(self, pointer: Any, index: Any, n: int = 0) -> Any:
        """Read a vector."""
        return self.builder.load(self.at(pointer, index, n), align=4)

    def store(self, value: Any, pointer: Any, index: Any, n: int = 0) -> None:
        """Write a vector."""
        self.builder.store(value, self.at(pointer, index, n), align=4)

    def add_product(self, total: Any, a: Any, b: Any) -> Any:
        """Return total + a b."""
        return self.builder.fadd(total, self.builder.fmul(a, b, flags=_FUSED), flags=_FUSED)

    def subtract_product(self, total: Any, a: Any, b: Any) -> Any:
        """Return total - a b."""
        return self.builder.fsub(total, self.builder.fmul(a, b, flags=_FUSED), flags=_FUSED)

    def variables(self, n: int, kind: Any, value: int) -> list[Any]:
        """Make vectors that change; they stay in registers."""
        made = [cgutils.alloca_once(self.builder, kind) for _ in range(n)]
        for variable in made:
            self.builder.store(ir.Constant(kind, [value] * self.lanes), variable)
        return made

    @contextmanager
    def steps(self, n: Any, width: int) -> Iterator[Any]:
        """Loop over 0, width, 2 width, ... below n."""
        zero = n.type(0)
        with cgutils.for_range_slice(self.builder, zero, n, n.type(width), n.type) as (index, _):
            yield index


class _Largest:
    """The first index of the largest absolute value among all that it was shown.

    Values are compared as bit patterns: without the sign, their order as whole numbers is that of the floats.
    """

    def __init__(self, vectors: _Vectors) -> None:
        self.vectors = vectors
        self.values, self.indices = vectors.variables(2, vectors.ints, 0)

    def show(self, value: Any, index: Any, n: int) -> None:
        """Take in the n-th vector after an index; these only grow."""
        v, builder = self.vectors, self.vectors.builder
        bits = builder.and_(builder.bitcast(value, v.ints), ir.Constant(v.ints, [_NO_SIGN] * v.lanes))
        first = builder.add(builder.trunc(index, _INT), _INT(n * v.lanes))
        here = builder.add(v.splat(first), ir.Constant(v.ints, list(range(v.lanes))))
        before = builder.load(self.values)
        larger = builder.icmp_signed(">", bits, before)
        builder.store(builder.select(larger, bits, before), self.values)
        builder.store(builder.select(larger, here, builder.load(self.indices)), self.indices)

    def index(self) -> Any:
        """Return it, as int64."""
        v, builder = self.vectors, self.vectors.builder
        values, indices = builder.load(self.values), builder.load(self.indices)
        kind = ir.FunctionType(_INT, [v.ints])
        largest, least = (
            cgutils.get_or_insert_function(
                builder.module, kind, f"llvm.vector.reduce.{name}.v{v.lanes}i32"
            )
            for name in ("smax", "smin")
        )
        tops = builder.icmp_signed("==", values, v.splat(builder.call(largest, [values])))
        nowhere = ir.Constant(v.ints, [_NO_SIGN] * v.lanes)
        return builder.zext(builder.call(least, [builder.select(tops, indices, nowhere)]), ir.IntType(64))


def _inner_loop(returns: Any, emit: Callable[..., Any]) -> Any:
    """Make of `emit(vectors, *arguments)` a function for compiled code; arrays come as pointers to their data.

    Arguments are C-contiguous arrays of float32, float32 and int64.
    """

    def typed(_: Any, *kinds: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointers = [
                context.make_array(kind)(context, builder, argument).data
                if isinstance(kind, types.Array)
                else argument
                for kind, argument in zip(signature.args, arguments, strict=True)
            ]
            made = emit(_Vectors(context, builder), *pointers)
            return context.get_dummy_value() if returns is types.none else made

        return returns(*kinds), code

    return typed


@intrinsic
def correlate_tile(_: Any, panel: Any, m: Any, signals: Any, out: Any, n: Any) -> Any:
    """out[s, :PANEL] = panel' signals[s] for `TILE` signals (TILE, m); the panel is (m, PANEL), out (TILE, n)."""

    def emit(v: _Vectors, panel: Any, m: Any, signals: Any, out: Any, n: Any) -> None:
        b = v.builder
        width = v.abreast * v.lanes
        for start in range(0, PANEL, width):
            sums = [v.variables(v.abreast, v.floats, 0) for _ in range(TILE)]
            with v.steps(m, 1) as i:
                row = b.add(b.mul(i, i.type(PANEL)), i.type(start))
                atoms = [v.load(panel, row, a) for a in range(v.abreast)]
                for s in range(TILE):
                    at = b.add(b.mul(m, i.type(s)), i)
                    value = v.splat(b.load(b.gep(signals, [at])))
                    for a in range(v.abreast):
                        b.store(v.add_product(b.load(sums[s][a]), value, atoms[a]), sums[s][a])
            for s in range(TILE):
                at = b.add(b.mul(n, n.type(s)), n.type(start))
                for a in range(v.abreast):
                    v.store(b.load(sums[s][a]), out, at, a)

    return _inner_loop(types.none, emit)(None, panel, m, signals, out, n)


@intrinsic
def strongest(_: Any, values: Any, n: Any) -> Any:
    """First index of the largest absolute value; n is a multiple of `PANEL`."""

    def emit(v: _Vectors, values: Any, n: Any) -> Any:
        largest = _Largest(v)
        with v.steps(n, v.lanes) as j:
            largest.show(v.load(values, j), j, 0)
        return largest.index()

    return _inner_loop(types.int64, emit)(None, values, n)


@intrinsic
def advance(
    _: Any, Q: Any, steps: Any, factors: Any, k: Any, gram_row: Any, scale: Any, step: Any, values: Any, n: Any
) -> Any:
    """Add a direction to Q and take its part out of the correlations: one pass, atoms by atoms.

    Q[k] = scale (gram_row - sum_p factors[p] Q[p]) over p < k, values -= step Q[k]. Q is (n / PANEL, steps,
    PANEL). Returns the first index of the largest absolute value.
    """

    def emit(v: _Vectors, Q: Any, steps: Any, factors: Any, k: Any, gram_row: Any, scale: Any, step: Any,
             values: Any, n: Any) -> Any:  # fmt: skip
        b = v.builder
        scales, parts = v.splat(scale), v.splat(step)
        largest = _Largest(v)
        width = v.abreast * v.lanes
        with v.steps(n, PANEL) as panel:
            for start in range(0, PANEL, width):
                sums = v.variables(v.abreast, v.floats, 0)
                j = b.add(panel, panel.type(start))
                for a in range(v.abreast):
                    b.store(v.load(gram_row, j, a), sums[a])
                first = b.add(b.mul(panel, steps), panel.type(start))
                with v.steps(k, 1) as p:
                    factor = v.splat(b.load(b.gep(factors, [p])))
                    row = b.add(first, b.mul(p, p.type(PANEL)))
                    for a in range(v.abreast):
                        b.store(v.subtract_product(b.load(sums[a]), factor, v.load(Q, row, a)), sums[a])
                row = b.add(first, b.mul(k, k.type(PANEL)))
                for a in range(v.abreast):
                    direction = b.fmul(b.load(sums[a]), scales)
                    v.store(direction, Q, row, a)
                    value = v.subtract_product(v.load(values, j, a), parts, direction)
                    v.store(value, values, j, a)
                    largest.show(value, j, a)
        return largest.index()

    return _inner_loop(types.int64, emit)(
        None, Q, steps, factors, k, gram_row, scale, step, values, n
    )
