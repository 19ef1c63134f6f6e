/** Sums of usage as they should be: slow and obvious, sharing nothing with the real ones but the form of their keys. */

export type RollupOracle = Map<string, { readonly requests: number; readonly tokens: number; readonly cost: bigint; readonly unpriced: number }>;

/** Every key under which a record counts; `target` is its provider and model, joined by a line feed. */
export function rollupKeysOf(userPath: string, day: string, target: string): string[] {
  const segments = userPath.split("/").filter((segment) => segment !== "");
  const keys: string[] = [];
  for (let depth = 0; depth <= segments.length; depth++) {
    const path = `/${segments.slice(0, depth).join("/")}`;
    const parent = depth === 0 ? "" : `/${segments.slice(0, depth - 1).join("/")}`;
    keys.push(`t\n${parent}\n${segments[depth - 1] ?? ""}\n${day}`, `m\n${path}\n${day}\n${target}`);
  }
  return keys;
}
