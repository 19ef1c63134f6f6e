/**
 * Releases that meet in a seed: most seeds have one, in some the processes are upgraded and taken
 * back one by one, in a few the daemon is of a release that shares no wire version with the
 * proxies. Drawn by a generator of their own: a seed's other history doesn't depend on them.
 */
import { type WireVersions, wireVersions } from "../../shared/wire/wire-versions.js";
import { createRandom } from "./random.js";

export interface Release {
  readonly wireVersions: WireVersions;
}

const { newest } = wireVersions;
const present: Release = { wireVersions };
const next: Release = { wireVersions: { oldest: newest, newest: newest + 1 } };
const distant: Release = { wireVersions: { oldest: newest + 1, newest: newest + 2 } };

export interface Releases {
  /** Of a daemon that starts. */
  daemon(healing: boolean): Release;
  /** Of a proxy that starts. */
  proxy(): Release;
  /** Whether the daemon is replaced when the faults end: requests end under the next one. */
  readonly replacesDaemon: boolean;
}

export function someReleases(seed: number): Releases {
  const random = createRandom(seed ^ 0x9e3779b9);
  const kind = random.next();
  if (kind < 0.65) return { daemon: () => present, proxy: () => present, replacesDaemon: false };
  if (kind < 0.9) {
    const either = (): Release => random.pick([present, next]);
    return { daemon: either, proxy: either, replacesDaemon: true };
  }
  return {
    daemon: (healing) => (healing || random.chance(0.4) ? distant : present),
    proxy: () => present,
    replacesDaemon: true,
  };
}
