/** The environment as a value: the process's own is read in `main` files alone. */

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The trimmed value of a variable, or null when it is unset or blank. Blank counts as unset
 * everywhere: compose files can't do otherwise.
 */
export function variable(env: Environment, name: string): string | null {
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  return value === undefined || value.trim() === "" ? null : value.trim();
}
