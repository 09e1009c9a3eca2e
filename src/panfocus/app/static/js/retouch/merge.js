/* Strokes that two tabs have changed at a time, put together. */

/* The strokes of `list` that `before` has not; one that was painted twice counts twice. */
export function addsOf(before, list) {
  const known = new Map();
  for (const stroke of before) known.set(nameOf(stroke), (known.get(nameOf(stroke)) ?? 0) + 1);
  return list.filter((stroke) => {
    const n = known.get(nameOf(stroke)) ?? 0;
    if (n) known.set(nameOf(stroke), n - 1);
    return n === 0;
  });
}

/* `theirs` with what was changed from `before` to `mine`: added at the end, or taken away. */
export function merged(before, mine, theirs) {
  const takenAway = addsOf(mine, before);
  const added = addsOf(addsOf(before, theirs), addsOf(before, mine));
  return [...addsOf(takenAway, theirs), ...added];
}

/* Whether two lists have the same strokes in the same order. */
export function alike(one, other) {
  return one.length === other.length && one.every((stroke, i) => nameOf(stroke) === nameOf(other[i]));
}

const names = new WeakMap(); // by stroke: each is in many lists, one for every step that can be taken back

/* What makes a stroke this one. One that is matched stays so when the server has found its gain. */
function nameOf(stroke) {
  const { frame, points, radius, hardness, opacity, gain, match } = stroke;
  const matched = Boolean(gain || match);
  if (!names.has(stroke)) names.set(stroke, JSON.stringify([frame, points, radius, hardness, opacity, matched]));
  return names.get(stroke);
}
