/**
 * The hint "did you mean" in messages about unknown names. The caller passes the known names and
 * decides whether an unknown name is an error or a warning.
 */

/**
 * The most differences of a misspelling: a third of the letters, at most two. More makes another
 * word.
 */
function distanceMax(name: string): number {
  return Math.min(2, Math.floor(name.length / 3));
}

/**
 * The known name that `name` is most likely a misspelling of, or null. Letter case and the choice
 * of `-` or `_` don't count as differences.
 */
export function closestName(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = distanceMax(name) + 1;
  for (const candidate of known) {
    const distance = editDistance(plain(name), plain(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** What other programs or newcomers call a key. The hint names the first one known at its place. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  address: ["host", "base_url"],
  api_base: ["base_url"],
  bind: ["host"],
  budget: ["amount", "budgets"],
  completion: ["output"],
  endpoint: ["base_url"],
  fallbacks: ["targets"],
  input_per_million: ["input"],
  interval: ["period"],
  key: ["api_key"],
  limit: ["max_requests", "amount", "rate_limits", "limits"],
  listen: ["host"],
  max_budget: ["amount"],
  model_list: ["providers"],
  name: ["path", "model", "label"],
  output_per_million: ["output"],
  prompt: ["input"],
  requests: ["max_requests"],
  rpm: ["max_requests"],
  secret: ["api_key", "master_key"],
  subject: ["path", "name", "model", "label"],
  token: ["api_key"],
  tokens: ["max_tokens"],
  tpm: ["max_tokens"],
  url: ["base_url"],
  usd: ["amount"],
  user_path: ["path"],
  window: ["period"],
};

/** `; did you mean port?` if a known name is close or a synonym, else nothing. */
export function didYouMean(name: string, known: readonly string[]): string {
  const words = Object.hasOwn(synonyms, plain(name)) ? synonyms[plain(name)]! : [];
  const close = closestName(name, known) ?? words.find((word) => known.includes(word)) ?? null;
  return close === null ? "" : `; did you mean ${close}?`;
}

/** `; did you mean port?` if a known name is close, else `: expected host, port`. */
export function nameHint(name: string, known: readonly string[]): string {
  const hint = didYouMean(name, known);
  if (hint !== "" || known.length === 0) return hint;
  return `: expected ${known.join(", ")}`;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll("-", "_");
}

/** The least number of inserted, deleted, replaced or swapped letters between two texts. */
function editDistance(a: string, b: string): number {
  // Names are short, but a file may contain a very long key; comparing lengths first is enough.
  if (Math.abs(a.length - b.length) > 2) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
