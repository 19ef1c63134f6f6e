/** `docs/openapi.json`, loaded lazily at the first request and cached. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Log } from "../../../shared/log.js";
import { keptFile } from "../../http/kept-file.js";
import type { KeptFile } from "../../http/reply-file.js";
import type { LoadOpenapi } from "./reply-openapi.js";

/** Relative to the program, two folders below the package's root, or to this compiled module. */
const places = ["../../docs/openapi.json", "../../../../docs/openapi.json"].map((place) =>
  fileURLToPath(new URL(place, import.meta.url)),
);

/** Reads the file once, and again after a failure. Never rejects. */
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
