/** Colors of the heat maps, from nothing to the most. */
export const HEAT_STOPS: [number, number, number][] = [
  [0.19, 0.26, 0.58],
  [0.16, 0.53, 0.69],
  [0.3, 0.74, 0.58],
  [0.84, 0.86, 0.4],
  [0.96, 0.62, 0.26],
  [0.78, 0.18, 0.18],
];
