/** The settings of one proxy as they are in force, as GET /admin/config shows them. */
import type { EffectiveSetting } from "../config/config.js";

export interface SettingsList {
  readonly version: string;
  /** The file that was read; null: there is none. */
  readonly file: string | null;
  /** The scalar settings, in the order of docs/configuration.md. */
  readonly settings: readonly EffectiveSetting[];
}
