/**
 * The wire versions that a release supports: its own and the one before, so that proxy, command
 * line and daemon can be upgraded one after the other (`docs/reload-and-upgrade.md`). A client
 * names a version in its hello, the newest first. If the daemon supports it, the connection uses
 * it; otherwise the client offers an older version on its next connection.
 *
 * These are the same in every version, so that a peer of any other version gets an answer and loses
 * nothing: `hello` begins with id, version, role and proxy id; `failed`, `settle` and `settled`
 * keep their fields. A message, a lease, an attempt and a usage record get new fields only at their
 * end, where older releases ignore them; unknown events are ignored.
 */
import { wireVersion } from "../version.js";

/** From `oldest` to `newest`, both inclusive. */
export interface WireVersions {
  readonly oldest: number;
  readonly newest: number;
}

/** Version 1 is the first. */
export const wireVersions: WireVersions = {
  oldest: Math.max(1, wireVersion - 1),
  newest: wireVersion,
};

export function speaks({ oldest, newest }: WireVersions, version: number): boolean {
  return oldest <= version && version <= newest;
}

/** For people: `wire versions 9 to 10`. */
export function describeVersions({ oldest, newest }: WireVersions): string {
  return oldest === newest ? `wire version ${newest}` : `wire versions ${oldest} to ${newest}`;
}
