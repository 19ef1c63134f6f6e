/**
 * `docs/openapi.json`, read from the disk when somebody first asks for it and kept: a proxy that is
 * never asked pays nothing for it.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Log } from "../../../shared/log.js";
import { keptFile } from "../../http/kept-file.js";
import type { KeptFile } from "../../http/reply-file.js";
import type { LoadOpenapi } from "./reply-openapi.js";

/** From the program, which is two folders below the package's, or from this module, compiled. */
const places = ["../../docs/openapi.json", "../../../../docs/openapi.json"].map((place) =>
  fileURLToPath(new URL(place, import.meta.url)),
);

/** Reads once; after a failure, again at the next call. Never rejects. */
export function createOpenapiLoader(
  log: Pick<Log, "warn">,
  from: readonly string[] = places,
): LoadOpenapi {
  let loading: Promise<KeptFile | null> | null = null;
  return () => {
    loading ??= Promise.any(from.map((path) => readFile(path))).then(asDocument, (error) => {
      loading = null;
      log.warn({ tried: from, reason: String(error) }, "docs/openapi.json can't be read");
      return null;
    });
    return loading;
  };
}

function asDocument(bytes: Buffer): KeptFile {
  return keptFile(bytes, "application/json");
}
