/**
 * Finds the model of our records that a bill means: a bill names a dated snapshot where requests
 * named the model, or writes the name in words. Pure.
 */

/** `Claude Opus 4.8` and `claude-opus-4-8` alike. */
function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/^(?:models|publishers\/[^/]+\/models)\//, "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
}

/**
 * Without the date of a snapshot, `-preview` and `-latest`, a version such as `-v1-0`, and the
 * vendor of Bedrock's ids.
 */
function undatedName(name: string): string {
  return plainName(name)
    .replace(
      /^(?:(?:us|eu|apac|jp|au|global)-)?(?:anthropic|amazon|meta|mistral|cohere)-(?=.+-)/,
      "",
    )
    .replace(/-v\d+(?:-\d+)?$/, "")
    .replace(/-(?:latest|preview)(?:-\d{2}-\d{2,4})?$/, "")
    .replace(/-(?:\d{4}-\d{2}-\d{2}|20\d{6})$/, "");
}

/** For each name of a bill the name in our records; a name without one keeps its own. */
export function joinModels(
  ours: readonly string[],
  billed: readonly string[],
): ReadonlyMap<string, string> {
  const byPlain = new Map(ours.map((name) => [plainName(name), name]));
  const byUndated = new Map<string, string[]>();
  for (const name of ours) {
    const undated = undatedName(name);
    byUndated.set(undated, [...(byUndated.get(undated) ?? []), name]);
  }
  return new Map(
    billed.map((name) => {
      const exact = byPlain.get(plainName(name)) ?? byPlain.get(undatedName(name));
      const [only, second] = byUndated.get(undatedName(name)) ?? [];
      // Two snapshots in our records: which one is meant isn't known.
      return [name, exact ?? (second === undefined ? only : undefined) ?? name];
    }),
  );
}
