/**
 * User paths: the slash-separated names that rules and budgets apply to
 * (`docs/reference/http-api.md`). Matching is not here: the daemon's rule book owns it.
 */
import { userPathBytesMax, userPathSegmentsMax } from "../bounds.js";
import { utf8Bytes } from "../text/utf8-bytes.js";

type UserPathResult =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly reason: string };

/**
 * Matches a normal path, the usual case, in which nothing changes. The numbers keep it within the
 * bounds: 16 segments of 64 bytes.
 */
const alreadyNormal = /^(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,62}){1,16}$/;
const forbidden = /[:\p{Cc}\p{Cs}]/u;

/**
 * Normalizes a path: trimmed, led by `/`, segments trimmed, empty ones dropped; `/` when nothing is
 * left. Case is kept. `.`, `..`, a colon and control characters are errors.
 */
export function normalizeUserPath(raw: string): UserPathResult {
  if (alreadyNormal.test(raw)) return { ok: true, path: raw };
  const segments: string[] = [];
  for (const piece of raw.split("/")) {
    const segment = piece.trim();
    if (segment === "") continue;
    if (segment === "." || segment === "..")
      return { ok: false, reason: `must not hold the segment ${segment}` };
    if (forbidden.test(segment))
      return { ok: false, reason: "must not hold a colon or a control character" };
    segments.push(segment);
  }
  if (segments.length > userPathSegmentsMax)
    return { ok: false, reason: `must have at most ${userPathSegmentsMax} segments` };
  const path = `/${segments.join("/")}`;
  if (utf8Bytes(path) > userPathBytesMax)
    return { ok: false, reason: `must be at most ${userPathBytesMax} bytes` };
  return { ok: true, path };
}

/**
 * Whether `normalizeUserPath` would return the path unchanged. For frames, which must contain
 * normal paths.
 */
export function isNormalUserPath(path: string): boolean {
  if (path === "/") return true;
  if (alreadyNormal.test(path)) return true;
  const result = normalizeUserPath(path);
  return result.ok && result.path === path;
}

/** The path of a direct child by its name; for an empty name the path itself. */
export function childPath(path: string, name: string): string {
  if (name === "") return path;
  return path === "/" ? `/${name}` : `${path}/${name}`;
}

/** The path above a path; `/` for itself. */
export function parentPath(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

/** The name of the child of `path` through which a path below it leads; null for `path` itself. */
export function childOnPath(userPath: string, path: string): string | null {
  if (userPath === path) return null;
  const from = path === "/" ? 1 : path.length + 1;
  const end = userPath.indexOf("/", from);
  return userPath.slice(from, end === -1 ? undefined : end);
}

/** Whether a path is this one or below it. */
export function isPathWithin(userPath: string, path: string): boolean {
  return path === "/" || userPath === path || userPath.startsWith(`${path}/`);
}
