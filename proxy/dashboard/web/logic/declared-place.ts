/** Where the configuration declares a limit, in as many words as fit into a row. Pure. */

interface DeclaredPlace {
  /** Without its directories, and with the line if it is known; null: a variable declares it. */
  readonly file: string | null;
  /** The place in the file below its section, or the variable. */
  readonly within: string;
}

/** `/etc/sluice/sluice.yaml: rate_limits.user_paths[0].limits[1]`, or `SET_RATE_LIMIT_TEAM`. */
export function declaredPlace(declaredAt: string, line?: number): DeclaredPlace {
  const colon = declaredAt.lastIndexOf(": ");
  if (colon === -1) return { file: null, within: declaredAt };
  const file = declaredAt.slice(declaredAt.lastIndexOf("/", colon) + 1, colon);
  const place = declaredAt.slice(colon + 2);
  return {
    file: line === undefined ? file : `${file}:${line}`,
    within: place.slice(place.indexOf(".") + 1),
  };
}
