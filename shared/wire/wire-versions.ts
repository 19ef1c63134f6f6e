/**
 * Which versions of the wire a release speaks: its own and the one before, so that proxy, command
 * line and daemon can be upgraded one after the other (`docs/upgrade.md`). Whoever connects names a
 * version in its hello, its newest first; that is the version of the connection if the daemon
 * speaks it, and otherwise the next connection offers an older one.
 *
 * What holds in every version, so that a peer of any other can be told so and lose nothing:
 * `hello` begins with id, version, role and proxy id; `failed`, `settle` and `settled` keep their
 * fields. A message, a lease, an attempt and a usage record get further fields only at their end,
 * where those who don't know them pass over them; an event of an unknown name is passed over.
 *
 * 9: the first; it closes a peer that says more fields than it knows. 10: a `failed` may answer an
 * admission and a reroute; a proxy whose version the daemon doesn't speak stays connected, to send
 * its settles; a settle may say since when its target is tried, and report progress; a proxy says
 * which verdicts it has read, withdraws one that came too late, and holds what went without one.
 */
import { wireVersion } from "../version.js";

/** From `oldest` to `newest`, both included. */
export interface WireVersions {
  readonly oldest: number;
  readonly newest: number;
}

export const wireVersions: WireVersions = { oldest: wireVersion - 1, newest: wireVersion };

/** From this version on fields behind the known ones are passed over. */
export const passesOverFields = 10;

/** From this version on a proxy says which verdicts it has read, and withdraws late ones. */
export const tellsVerdictsRead = 10;

export function speaks({ oldest, newest }: WireVersions, version: number): boolean {
  return oldest <= version && version <= newest;
}

/** For people: `wire versions 9 and 10`. */
export function describeVersions({ oldest, newest }: WireVersions): string {
  return oldest === newest ? `wire version ${newest}` : `wire versions ${oldest} to ${newest}`;
}
