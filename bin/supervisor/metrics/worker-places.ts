/**
 * The sockets on which the proxies that share a port answer each other about their metrics: how
 * their files are called, and which label what each tells has. Pure.
 */

/** `worker-2.1795435200000.4711.sock` */
export interface WorkerPlace {
  readonly file: string;
  /** Of its unit. */
  readonly name: string;
  readonly servesSinceMs: number;
  readonly pid: number;
}

/** The first proxy of a port: as a proxy that is alone, it has no label. */
const unlabelled = "proxy";
/** More than a port has; a directory with more isn't ours. */
const placesMax = 128;

export function workerPlace(name: string, servesSinceMs: number, pid: number): WorkerPlace {
  return { file: `${name}.${servesSinceMs}.${pid}.sock`, name, servesSinceMs, pid };
}

/** Of the files of the directory, those that are such sockets. */
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
 * The label of each: its name, which the latest of that name has. One that a reload has replaced,
 * and that ends its last requests, has a label that nothing else ever has: what it has counted
 * would else seem to be counted again.
 */
export function labelsOf(places: readonly WorkerPlace[]): ReadonlyMap<WorkerPlace, string> {
  const latest = new Map<string, WorkerPlace>();
  for (const place of places) {
    const other = latest.get(place.name);
    if (other === undefined || isLater(place, other)) latest.set(place.name, place);
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
