"""Explicit vector code for the inner loops of the compiled kernel, with values held in registers.

A compiler vectorises a plain loop, but on many machines with half of the vector width, and it writes every
sum to memory between rows. Here vectors and registers are explicit in LLVM. Each number is still summed in
the order of the plain loop, so that vectors of any width give the same bits.

Atoms are stored in panels of `PANEL` atoms, so that a loop over the rows of a panel reads contiguous memory.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

PANEL = 64  # atoms
TILE = 4  # signals correlated at a time

_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_FUSED = ("contract",)  # a*b + c may become one operation, as everywhere in the kernel
_NO_SIGN = 0x7FFFFFFF


class _Vectors:
    """Code generation for vectors of `lanes` floats, `abreast` of them side by side."""

    def __init__(self, builder: Any, lanes: int, abreast: int = 1) -> None:
        self.lanes = lanes
        self.abreast = abreast
        self.builder = builder
        self.floats = ir.VectorType(_FLOAT, self.lanes)
        self.doubles = ir.VectorType(ir.DoubleType(), self.lanes)
        self.ints = ir.VectorType(_INT, self.lanes)

    @staticmethod
    def of_machine(context: Any, builder: Any) -> "_Vectors":
        """Use the widest vectors, as many as let the sums of a tile fill half of the registers."""
        features = set(context.codegen().magic_tuple()[-1].split(","))
        if "+avx512f" in features:
            return _Vectors(builder, lanes=16, abreast=4)
        if "+avx" in features:
            return _Vectors(builder, lanes=8, abreast=2)
        return _Vectors(builder, lanes=4, abreast=4 if "+neon" in features else 2)

    def splat(self, value: Any) -> Any:
        """Return a vector with one number in all lanes."""
        vector = ir.VectorType(value.type, self.lanes)
        one = self.builder.insert_element(ir.Constant(vector, ir.Undefined), value, _INT(0))
        return self.builder.shuffle_vector(one, one, ir.Constant(self.ints, [0] * self.lanes))

    def at(self, pointer: Any, index: Any, n: int = 0) -> Any:
        """Return the address of the n-th vector after an index."""
        number = self.builder.gep(pointer, [self.builder.add(index, index.type(n * self.lanes))])
        return self.builder.bitcast(number, self.floats.as_pointer())

    def load(self, pointer: Any, index: Any, n: int = 0) -> Any:
        """Load a vector."""
        return self.builder.load(self.at(pointer, index, n), align=4)

    def store(self, value: Any, pointer: Any, index: Any, n: int = 0) -> None:
        """Store a vector."""
        self.builder.store(value, self.at(pointer, index, n), align=4)

    def add_product(self, total: Any, a: Any, b: Any) -> Any:
        """Return total + a b."""
        return self.builder.fadd(total, self.builder.fmul(a, b, flags=_FUSED), flags=_FUSED)

    def subtract_product(self, total: Any, a: Any, b: Any) -> Any:
        """Return total - a b."""
        return self.builder.fsub(total, self.builder.fmul(a, b, flags=_FUSED), flags=_FUSED)

    def variables(self, n: int, kind: Any, value: int) -> list[Any]:
        """Create n vector variables; they stay in registers."""
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
    """The first index of the largest absolute value among all vectors passed to `show`.

    Values are compared as bit patterns: without the sign bit, integers have the order of the floats.
    """

    def __init__(self, vectors: _Vectors) -> None:
        self.vectors = vectors
        self.values, self.indices, self.here = vectors.variables(3, vectors.ints, 0)
        vectors.builder.store(ir.Constant(vectors.ints, list(range(vectors.lanes))), self.here)

    def show(self, value: Any) -> None:
        """Compare the next vector of values."""
        v, builder = self.vectors, self.vectors.builder
        bits = builder.and_(builder.bitcast(value, v.ints), ir.Constant(v.ints, [_NO_SIGN] * v.lanes))
        before, here = builder.load(self.values), builder.load(self.here)
        larger = builder.icmp_signed(">", bits, before)
        builder.store(builder.select(larger, bits, before), self.values)
        builder.store(builder.select(larger, here, builder.load(self.indices)), self.indices)
        builder.store(builder.add(here, ir.Constant(v.ints, [v.lanes] * v.lanes)), self.here)

    def index(self) -> Any:
        """Return the index as int64."""
        v, builder = self.vectors, self.vectors.builder
        values, indices = builder.load(self.values), builder.load(self.indices)
        kind = ir.FunctionType(_INT, [v.ints])
        largest, least = (
            cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.{name}.v{v.lanes}i32")
            for name in ("smax", "smin")
        )
        tops = builder.icmp_signed("==", values, v.splat(builder.call(largest, [values])))
        nowhere = ir.Constant(v.ints, [_NO_SIGN] * v.lanes)
        return builder.zext(builder.call(least, [builder.select(tops, indices, nowhere)]), ir.IntType(64))


def _inner_loop(returns: Any) -> Callable[[Callable[..., Any]], Any]:
    """Turn `emit(vectors, *arguments)` into a function that compiled code calls without `vectors`.

    Arguments are contiguous arrays, passed as pointers to their data, and numbers (float32, int64).
    """

    def decorate(emit: Callable[..., Any]) -> Any:
        @wraps(emit)  # its signature has the number of arguments
        def typed(_: Any, *kinds: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                pointers = [
                    context.make_array(kind)(context, builder, argument).data
                    if isinstance(kind, types.Array)
                    else argument
                    for kind, argument in zip(signature.args, arguments, strict=True)
                ]
                result = emit(_Vectors.of_machine(context, builder), *pointers)
                return context.get_dummy_value() if returns is types.none else result

            return returns(*kinds), code

        return intrinsic(typed)

    return decorate


@_inner_loop(types.none)
def correlate_tile(v: _Vectors, panel: Any, m: Any, signals: Any, out: Any, n: Any) -> None:
    """out[s, :PANEL] = panel' signals[s] for `TILE` signals (TILE, m); panel is (m, PANEL), out (TILE, n)."""
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


@_inner_loop(types.int64)
def strongest(v: _Vectors, values: Any, n: Any) -> Any:
    """Return the first index of the largest absolute value; n is a multiple of `PANEL`."""
    largest = _Largest(v)
    with v.steps(n, v.lanes) as j:
        largest.show(v.load(values, j))
    return largest.index()


@_inner_loop(types.int64)
def advance(
    v: _Vectors, Q: Any, steps: Any, factors: Any, k: Any, gram_row: Any, scale: Any, step: Any, values: Any,
    n: Any,
) -> Any:  # fmt: skip
    """Add a direction to Q and subtract its part from the correlations, in one pass over the atoms.

    Q[k] = scale (gram_row - sum_p factors[p] Q[p]) over p < k, values -= step Q[k]. Q is (n / PANEL, steps,
    PANEL). Returns the first index of the largest absolute value.
    """
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
                largest.show(value)
    return largest.index()


@_inner_loop(types.float64)
def measure(
    v: _Vectors, signal: Any, atoms: Any, m: Any, chosen: Any, coefficients: Any, k: Any, residual: Any
) -> Any:
    """residual = x - D a over the k chosen atoms, in float64; returns its squared norm.

    m is a multiple of 16: on every machine the squares are added in 16 interleaved sums.
    """
    v = _Vectors(v.builder, lanes=16)
    b = v.builder
    sums, left = v.variables(2, v.doubles, 0)
    with v.steps(m, v.lanes) as i:
        b.store(b.fpext(v.load(signal, i), v.doubles), left)
        with v.steps(k, 1) as p:
            coefficient = v.splat(b.fpext(b.load(b.gep(coefficients, [p])), ir.DoubleType()))
            row = b.mul(b.sext(b.load(b.gep(chosen, [p])), m.type), m)
            atom = b.fpext(v.load(atoms, b.add(row, i)), v.doubles)
            b.store(v.subtract_product(b.load(left), coefficient, atom), left)
        place = b.bitcast(b.gep(residual, [i]), v.doubles.as_pointer())
        b.store(b.load(left), place, align=8)
        b.store(v.add_product(b.load(sums), b.load(left), b.load(left)), sums)
    total = b.load(sums)
    half = v.lanes
    while half > 1:
        half //= 2
        lower, upper = (
            b.shuffle_vector(total, total, ir.Constant(ir.VectorType(_INT, half), lanes))
            for lanes in (list(range(half)), list(range(half, 2 * half)))
        )
        total = b.fadd(lower, upper)
    return b.extract_element(total, _INT(0))
