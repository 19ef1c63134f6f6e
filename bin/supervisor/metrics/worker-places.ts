/**
 * The sockets on which proxies that share a port exchange their metrics: their file names, and the
 * label of each proxy. Pure.
 */

/** `worker-2.1795435200000.4711.sock` */
export interface WorkerPlace {
  readonly file: string;
  /** The name of its unit. */
  readonly name: string;
  readonly servesSinceMs: number;
  readonly pid: number;
}

/** The first proxy of a port, which has no label, like a single proxy. */
const unlabelled = "proxy";
/** More than a port has; a directory with more isn't Sluice's. */
const placesMax = 128;

export function workerPlace(name: string, servesSinceMs: number, pid: number): WorkerPlace {
  return { file: `${name}.${servesSinceMs}.${pid}.sock`, name, servesSinceMs, pid };
}

/** The files of the directory that are such sockets. */
export function workerPlacesIn(files: readonly string[]): readonly WorkerPlace[] {
  return files
    .flatMap((file): readonly WorkerPlace[] => {
      const [, name, sinceMs, pid] = /^(.+)\.(\d{1,15})\.(\d{1,10})\.sock$/.exec(file) ?? [];
      return name === undefined
        ? []
        : [{ file, name, servesSinceMs: Number(sinceMs), pid: Number(pid) }];
    })
    .slice(0, placesMax);
}

/**
 * The label of each proxy: the latest proxy with a name has that name. A proxy that a reload has
 * replaced and that is finishing has a unique label; otherwise its counts would seem to be counted
 * again.
 */
export function labelsOf(places: readonly WorkerPlace[]): ReadonlyMap<WorkerPlace, string> {
  const latest = new Map<string, WorkerPlace>();
  for (const place of places) {
    const sameName = latest.get(place.name);
    if (sameName === undefined || isLater(place, sameName)) latest.set(place.name, place);
  }
  return new Map(
    places.map((place) => {
      if (latest.get(place.name) !== place) return [place, `${place.name}-finishing-${place.pid}`];
      return [place, place.name === unlabelled ? "" : place.name];
    }),
  );
}

function isLater(one: WorkerPlace, other: WorkerPlace): boolean {
  return one.servesSinceMs === other.servesSinceMs
    ? one.pid > other.pid
    : one.servesSinceMs > other.servesSinceMs;
}
