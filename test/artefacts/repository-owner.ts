/**
 * The repository that the pages name. `repository` in package.json is the one place to set it:
 * `npm run docs` then writes it into the pages, which say OWNER until then, and no release is made
 * without it (docs/releasing.md).
 */

/** The files that name it. */
export const ownedFiles: readonly string[] = [
  "docs/installing.md",
  "docs/releasing.md",
  "docs/examples/prometheus/alerts.yaml",
  "docs/examples/prometheus/alerts.test.yaml",
];

/** The owner on GitHub, of any form that npm takes of `repository`; null without one. */
export function ownerOf({ repository }: { readonly repository?: unknown }): string | null {
  const url =
    typeof repository === "object" && repository !== null && "url" in repository
      ? repository.url
      : repository;
  if (typeof url !== "string") return null;
  return /^(?:github:|.*github\.com[/:])?([\w-]+)\/[\w.-]+$/.exec(url)?.[1] ?? null;
}

/** A file of `ownedFiles` for this owner. */
export function withOwner(text: string, owner: string | null): string {
  return owner === null
    ? text
    : text.replaceAll(/(github\.com\/|ghcr\.io\/|--repo )OWNER\b/g, `$1${owner}`);
}
