/**
 * Which key files of JWT issuers can't be read now. One that comes later is found then, so it is no
 * problem of a start.
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
      return [
        `the jwks_file of the issuer ${issuer} can't be read, and its tokens get 503 until it can: ${error instanceof Error ? error.message : String(error)}`,
      ];
    }
  });
}
