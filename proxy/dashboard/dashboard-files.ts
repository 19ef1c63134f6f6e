/** The files of the dashboard as the handler sees them; `bundle-files.ts` reads them. */
import type { KeptFile } from "../http/reply-file.js";

export interface DashboardBundle {
  /** By name, without a folder. */
  readonly files: ReadonlyMap<string, KeptFile>;
  /** What every address of a page answers. */
  readonly page: KeptFile;
  readonly icon: KeptFile;
}

/** Reads them when it is first called; null when they haven't been built. */
export type LoadDashboard = () => Promise<DashboardBundle | null>;
