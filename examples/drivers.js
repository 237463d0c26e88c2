// Evaluate a driver table that `sinew bake --drivers` wrote, for three.js and other engines that
// play plain morph targets:
//
//   import { evaluate } from './drivers.js'
//   const weights = evaluate(table, { jawOpen: 0.5, mouthSmileLeft: 1 })
//   for (const [name, weight] of Object.entries(weights))
//     mesh.morphTargetInfluences[mesh.morphTargetDictionary[name]] = weight

// Weights of the knots of one slider: linear from knot to knot, the rest being a knot itself.
// Beyond the outermost knots the outermost segments go on.
function along(rest, knots, w, result) {
  const points = [{ at: rest, target: null }, ...knots].sort((a, b) => a.at - b.at)
  let i = 0
  while (i + 2 < points.length && w >= points[i + 1].at) i++
  const [low, high] = [points[i], points[i + 1]]
  const t = (w - low.at) / (high.at - low.at)
  if (low.target !== null) result[low.target] = 1 - t
  if (high.target !== null) result[high.target] = t
}

// Sum of coefficient * u[driver] ** power * ...; the drivers stay within [0, 1].
function polynomial(terms, u) {
  let sum = 0
  for (const [coefficient, ...factors] of terms)
    sum += factors.reduce((product, [driver, power]) => product * Math.min(u[driver], 1) ** power, coefficient)
  return sum
}

function combined({ rule, terms }, u) {
  if (rule === 'polynomial') return polynomial(terms, u)
  if (rule === 'hinge') return Math.max(polynomial(terms, u) - 1, 0)
  if (rule === 'multiply') return u.reduce((product, value) => product * value, 1)
  const least = Math.min(...u)
  if (rule === 'lowest' || least <= 0) return least
  return (u.reduce((sum, value) => sum + value ** -4, 0) / u.length) ** -0.25 // smooth_lowest
}

// Weights of all targets, by name; sliders that are not given are at rest.
export function evaluate(table, weights) {
  const result = Object.fromEntries(table.targets.map((name) => [name, 0]))
  const rest = {}
  const value = {}
  for (const s of table.sliders) {
    rest[s.name] = s.rest
    value[s.name] = weights[s.name] ?? s.rest
    if (s.knots.length > 0) along(s.rest, s.knots, value[s.name], result)
  }
  for (const c of table.combinations) {
    const unit = (d) => Math.max((value[d] - rest[d]) / (1 - rest[d] || 1), 0)
    result[c.target] = combined(c, c.drivers.map(unit))
  }
  return result
}
