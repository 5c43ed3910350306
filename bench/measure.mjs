/** Runs the two in turn, warmed up, and compares medians. Resolves to { ours, theirs, ratio }: ms, ms, median of pairs. */
export async function compare(rounds, ours, theirs) {
  const warmUp = Math.min(5, rounds);
  const [a, b, ratios] = [[], [], []];
  for (let round = 0; round < rounds + warmUp; round += 1) {
    const x = await timed(() => ours(round));
    const y = await timed(() => theirs(round));
    if (round < warmUp) continue;
    a.push(x);
    b.push(y);
    ratios.push(x / y);
  }
  return { ours: median(a), theirs: median(b), ratio: median(ratios) };
}

async function timed(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

export function percentile(values, share) {
  const sorted = [...values].sort((x, y) => x - y);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

export function median(values) {
  return percentile(values, 0.5);
}
