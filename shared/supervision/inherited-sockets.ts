/**
 * Listening sockets that a process was given at its start, as descriptors: by systemd's socket
 * activation (sd_listen_fds(3)), or by another process of Sluice. What is done with them is left to
 * each program.
 */

/** The descriptors by name; a name may have several, such as an IPv4 and an IPv6 address. */
export interface InheritedSockets {
  /**
   * `unit`: by systemd, whose socket unit says the addresses. `handed-over`: by Sluice, at the
   * addresses of the configuration. `none`: the program listens itself.
   */
  readonly from: "unit" | "handed-over" | "none";
  readonly byName: ReadonlyMap<string, readonly number[]>;
}

/** What systemd or Sluice has given isn't what the program can take; the message says what is. */
export class InheritedSocketsError extends Error {
  override name = "InheritedSocketsError";
}

/** For a program that listens itself. */
export const noSockets: InheritedSockets = { from: "none", byName: new Map() };

/** Descriptors are given from this number on, by both. */
const firstInherited = 3;

const handedOver = "SLUICE_LISTEN_FDNAMES";
const activation = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] as const;
const socketsMax = 16;

/**
 * Reads and removes the variables, so that no process started later takes the descriptors for its
 * own. `names`: what the program can listen on; a single socket without a name is the first. Throws
 * `InheritedSocketsError`.
 */
export function takeInheritedSockets(
  env: Record<string, string | undefined>,
  pid: number,
  names: readonly string[],
): InheritedSockets {
  const handed = env[handedOver];
  const [forPid, count, given] = activation.map((name) => env[name]);
  for (const name of [handedOver, ...activation]) delete env[name];
  if (handed !== undefined) return byName("handed-over", handed.split(":"), handedOver, names);
  if (forPid === undefined || count === undefined) return noSockets;
  if (!/^\d{1,10}$/.test(forPid))
    throw new InheritedSocketsError(`LISTEN_PID must be a process id, not ${quoted(forPid)}`);
  // Meant for a process that has started this one.
  if (Number(forPid) !== pid) return noSockets;
  if (!/^\d{1,4}$/.test(count) || Number(count) > socketsMax)
    throw new InheritedSocketsError(
      `LISTEN_FDS must be a number from 0 to ${socketsMax}, not ${quoted(count)}`,
    );
  if (Number(count) === 0) return noSockets;
  const list = given ?? (count === "1" ? (names[0] ?? "") : "");
  const listed = list.split(":");
  if (listed.length !== Number(count))
    throw new InheritedSocketsError(
      `LISTEN_FDNAMES must name each of the ${count} sockets (FileDescriptorName= in their units), not ${quoted(list)}`,
    );
  return byName("unit", listed, "LISTEN_FDNAMES", names);
}

/** The variables by which a process of Sluice learns which sockets it is handed, in this order. */
export function handOverVariables(names: readonly string[]): Readonly<Record<string, string>> {
  return names.length === 0 ? {} : { [handedOver]: names.join(":") };
}

function byName(
  from: InheritedSockets["from"],
  listed: readonly string[],
  variable: string,
  names: readonly string[],
): InheritedSockets {
  const found = new Map<string, number[]>();
  for (const [index, name] of listed.entries()) {
    if (!names.includes(name))
      throw new InheritedSocketsError(
        `${variable} names a socket ${quoted(name)}; a socket may be named ${names.join(" or ")} (FileDescriptorName= in its unit)`,
      );
    found.set(name, [...(found.get(name) ?? []), firstInherited + index]);
  }
  return { from, byName: found };
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 200));
}
