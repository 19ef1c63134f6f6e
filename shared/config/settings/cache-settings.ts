/** The settings of the response cache, `cache.*` in the file. */
import { boolean } from "../kinds/choice-kinds.js";
import { integer, seconds } from "../kinds/number-kinds.js";
import { setting } from "./setting.js";

export const cacheSettings = {
  cacheEnabled: setting({
    path: "cache.enabled",
    env: "CACHE_ENABLED",
    flag: null,
    kind: boolean,
    defaultValue: false,
    defaultText: "false",
    unit: null,
    meaning: "Answers a repeated, identical request from the proxy's memory.",
  }),
  cacheTtlMs: setting({
    path: "cache.ttl_seconds",
    env: "CACHE_TTL_SECONDS",
    flag: null,
    kind: seconds({ min: 0.001, max: 31_536_000, zero: false }),
    defaultValue: 3_600_000,
    defaultText: "3600",
    unit: "seconds",
    meaning: "How long an answer is used again.",
  }),
  cacheEntriesMax: setting({
    path: "cache.max_entries",
    env: "CACHE_MAX_ENTRIES",
    flag: null,
    kind: integer({ min: 1, max: 10_000_000 }),
    defaultValue: 10_000,
    defaultText: "10000",
    unit: null,
    meaning: "How many answers a proxy keeps; the least recently used is dropped first.",
  }),
  cacheBytesMax: setting({
    path: "cache.max_bytes",
    env: "CACHE_MAX_BYTES",
    flag: null,
    kind: integer({ min: 1024, max: 68_719_476_736 }),
    defaultValue: 67_108_864,
    defaultText: "67108864",
    unit: "bytes",
    meaning: "How much a proxy keeps in total.",
  }),
  cacheEntryBytesMax: setting({
    path: "cache.max_entry_bytes",
    env: "CACHE_MAX_ENTRY_BYTES",
    flag: null,
    kind: integer({ min: 1024, max: 33_554_432 }),
    defaultValue: 1_048_576,
    defaultText: "1048576",
    unit: "bytes",
    meaning: "The largest answer that is kept.",
  }),
  cacheSharedAcrossPaths: setting({
    path: "cache.share_across_paths",
    env: "CACHE_SHARE_ACROSS_PATHS",
    flag: null,
    kind: boolean,
    defaultValue: false,
    defaultText: "false",
    unit: null,
    meaning: "Lets an answer to one user path be used for another.",
  }),
} as const;
