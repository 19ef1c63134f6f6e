/** The files of the dashboard as the handler sees them; `bundle-files.ts` reads them. */

export const codings = ["br", "gzip", "identity"] as const;
export type Coding = (typeof codings)[number];

export interface DashboardFile {
  readonly contentType: string;
  /** In quotes, as headers have it. */
  readonly etag: string;
  /** The bytes in this coding, made once. */
  bytes(coding: Coding): Promise<Buffer>;
}

export interface DashboardBundle {
  /** By name, without a folder. */
  readonly files: ReadonlyMap<string, DashboardFile>;
  /** What every address of a page answers. */
  readonly page: DashboardFile;
  readonly icon: DashboardFile;
}

/** Reads them when it is first called; null when they haven't been built. */
export type LoadDashboard = () => Promise<DashboardBundle | null>;
