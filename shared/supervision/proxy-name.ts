/** The name of a proxy under its supervisor: `proxy-1`. */

const proxyName = "SLUICE_PROXY_NAME";

/** The variable by which a supervisor names a proxy that it starts. */
export function proxyNameVariable(name: string): Readonly<Record<string, string>> {
  return { [proxyName]: name };
}

/**
 * Reads and removes the variable; null for a process that no supervisor of Sluice has started, so
 * also for one that may itself supervise others.
 */
export function takeProxyName(env: Record<string, string | undefined>): string | null {
  const name = env[proxyName];
  delete env[proxyName];
  return name !== undefined && /^proxy(?:-\d{1,4})?$/.test(name) ? name : null;
}

/** Whether a supervisor of Sluice has started this process as one of its proxies. */
export function isNamedProxy(env: Readonly<Record<string, string | undefined>>): boolean {
  return env[proxyName] !== undefined;
}
