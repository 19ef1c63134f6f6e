/**
 * Finds the key files of JWT issuers that can't be read now. A proxy starts without them and reads
 * them when they appear, so each is a warning only.
 */
import { accessSync, constants } from "node:fs";
import type { Config } from "../../shared/config/config.js";

/** A warning for each. */
export function missingKeyFiles({ jwtIssuers }: Config): readonly string[] {
  return jwtIssuers.flatMap(({ issuer, keys }) => {
    if (keys.kind !== "file") return [];
    try {
      accessSync(keys.path, constants.R_OK);
      return [];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const file = `the jwks_file of the issuer ${issuer}`;
      return [`${file} can't be read, and its tokens get 503 until it can: ${reason}`];
    }
  });
}
