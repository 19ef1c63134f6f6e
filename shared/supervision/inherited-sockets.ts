/**
 * Listening sockets that a process inherits as descriptors: from systemd's socket activation
 * (sd_listen_fds(3)) or from another process of Sluice. Each program decides how to use them.
 */

/** Descriptors by name; a name may have several, such as an IPv4 and an IPv6 address. */
export interface InheritedSockets {
  /**
   * `unit`: from systemd, whose socket unit has the addresses. `handed-over`: from Sluice, at the
   * configured addresses. `none`: the program listens itself.
   */
  readonly from: "unit" | "handed-over" | "none";
  readonly byName: ReadonlyMap<string, readonly number[]>;
}

/** The inherited sockets aren't those that the program accepts; the message lists those. */
export class InheritedSocketsError extends Error {
  override name = "InheritedSocketsError";
}

/** For a program that listens itself. */
export const noSockets: InheritedSockets = { from: "none", byName: new Map() };

/** The first inherited descriptor, for both sources. */
const firstInherited = 3;

const handedOver = "SLUICE_LISTEN_FDNAMES";
const activation = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] as const;
const socketsMax = 16;

/**
 * Reads and removes the variables, so that no child process mistakes the descriptors for its own.
 * `names`: the sockets that the program accepts; a single socket without a name is the first.
 * Throws `InheritedSocketsError`.
 */
export function takeInheritedSockets(
  env: Record<string, string | undefined>,
  pid: number,
  names: readonly string[],
): InheritedSockets {
  const handed = env[handedOver];
  const [forPid, count, nameList] = activation.map((name) => env[name]);
  for (const name of [handedOver, ...activation]) delete env[name];
  if (handed !== undefined) return byName("handed-over", handed.split(":"), handedOver, names);
  if (forPid === undefined || count === undefined) return noSockets;
  if (!/^\d{1,10}$/.test(forPid))
    throw new InheritedSocketsError(`LISTEN_PID must be a process id, not ${quoted(forPid)}`);
  // Intended for the parent of this process.
  if (Number(forPid) !== pid) return noSockets;
  if (!/^\d{1,4}$/.test(count) || Number(count) > socketsMax)
    throw new InheritedSocketsError(
      `LISTEN_FDS must be a number from 0 to ${socketsMax}, not ${quoted(count)}`,
    );
  if (Number(count) === 0) return noSockets;
  const list = nameList ?? (count === "1" ? (names[0] ?? "") : "");
  const listed = list.split(":");
  if (listed.length !== Number(count))
    throw new InheritedSocketsError(
      `LISTEN_FDNAMES must name each of the ${count} sockets (FileDescriptorName= in their units), not ${quoted(list)}`,
    );
  return byName("unit", listed, "LISTEN_FDNAMES", names);
}

/** The variables that announce the sockets passed to a process of Sluice, in this order. */
export function handOverVariables(names: readonly string[]): Readonly<Record<string, string>> {
  return names.length === 0 ? {} : { [handedOver]: names.join(":") };
}

function byName(
  from: InheritedSockets["from"],
  listed: readonly string[],
  variable: string,
  names: readonly string[],
): InheritedSockets {
  const fdsByName = new Map<string, number[]>();
  for (const [index, name] of listed.entries()) {
    if (!names.includes(name))
      throw new InheritedSocketsError(
        `${variable} names a socket ${quoted(name)}; a socket may be named ${names.join(" or ")} (FileDescriptorName= in its unit)`,
      );
    fdsByName.set(name, [...(fdsByName.get(name) ?? []), firstInherited + index]);
  }
  return { from, byName: fdsByName };
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 200));
}
