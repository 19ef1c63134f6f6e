/** The environment variables as a value; only `main` files read those of the process. */

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The trimmed value of a variable, or null if it is unset or blank. Blank always counts as unset,
 * because a compose file can't leave a variable unset.
 */
export function variable(env: Environment, name: string): string | null {
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  return value === undefined || value.trim() === "" ? null : value.trim();
}
