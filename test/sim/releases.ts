/**
 * Releases that meet in a seed: most seeds have one, in some the processes are upgraded and taken
 * back one by one, in a few the daemon is of a release that shares no wire version with the
 * proxies. Drawn by a generator of their own: a seed's other history doesn't depend on them.
 */
import { type WireVersions, wireVersions } from "../../shared/wire/wire-versions.js";
import { createRandom } from "./random.js";

export interface Release {
  readonly wireVersions: WireVersions;
  /**
   * A daemon that closes a peer whose wire version it doesn't speak, as the first release does:
   * later ones take a proxy's settles.
   */
  readonly hangsUp: boolean;
}

const { oldest, newest } = wireVersions;
const present: Release = { wireVersions, hangsUp: false };
const previous: Release = {
  wireVersions: { oldest: oldest - 1, newest: newest - 1 },
  hangsUp: true,
};
const distant: Release = {
  wireVersions: { oldest: newest + 1, newest: newest + 2 },
  hangsUp: false,
};

export interface Releases {
  /** Of a daemon that starts. */
  daemon(healing: boolean): Release;
  /** Of a proxy that starts. */
  proxy(): Release;
  /** Whether the daemon is replaced when the faults end: requests end under the next one. */
  readonly replacesDaemon: boolean;
  /** Whether all are of this release. */
  readonly areOne: boolean;
}

export function someReleases(seed: number): Releases {
  const random = createRandom(seed ^ 0x9e3779b9);
  const kind = random.next();
  if (kind < 0.65)
    return { daemon: () => present, proxy: () => present, replacesDaemon: false, areOne: true };
  if (kind < 0.9) {
    const either = (): Release => random.pick([previous, present]);
    return { daemon: either, proxy: either, replacesDaemon: true, areOne: false };
  }
  return {
    daemon: (healing) => (healing || random.chance(0.4) ? distant : present),
    proxy: () => present,
    replacesDaemon: true,
    areOne: false,
  };
}
