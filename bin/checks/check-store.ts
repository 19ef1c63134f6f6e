/** The doctor's findings on the store, on the hosts that share limits, and on the clock. Pure. */
import { isObject } from "../../shared/checked.js";
import type { Config } from "../../shared/config/config.js";
import { append } from "../../shared/long-lists.js";
import { dayMs, dayOf } from "../../shared/time.js";
import { formatDuration } from "../text/duration.js";
import { type Finding, failedFinding, ok, warning } from "./finding.js";

type Fields = Readonly<Record<string, unknown>>;

const gibibyte = 1024 ** 3;
/** The share of the store's maximum size from which the log warns, too. */
const fillShare = 0.8;
/** A snapshot is due after each flush interval; a busy disk may delay it by this many. */
const intervalsMissed = 10;
const snapshotLateMsMin = 60_000;
/**
 * The age of a backup at which a store with usage or keys gets a finding; as in alert BackupOld.
 */
const backupDueDays = 7;

interface StoreFacts {
  /** The daemon's status. */
  readonly status: Fields;
  readonly nowMs: number;
  /** Free bytes on the disk of the data directory; null if unknown. */
  readonly freeBytes: number | null;
}

export function checkStore(
  { storeBytesMax, rateLimits }: Pick<Config, "storeBytesMax" | "rateLimits">,
  { status, nowMs, freeBytes }: StoreFacts,
): readonly Finding[] {
  const store = isObject(status["store"]) ? status["store"] : {};
  const { bytes, used_bytes: used, last_flush_at: flushedAt } = store;
  const findings: Finding[] = [];
  if (typeof used === "number" && storeBytesMax !== null)
    findings.push(
      used >= storeBytesMax * fillShare
        ? warning(
            "store size",
            `${gib(used)} of ${gib(storeBytesMax)} (usage.max_store_bytes): beyond it the oldest usage records are removed; raise it, or keep fewer days (usage.retention_days)`,
          )
        : ok("store size", `${gib(used)} of ${gib(storeBytesMax)}`),
    );
  if (typeof bytes === "number" && freeBytes !== null && freeBytes < bytes)
    findings.push(
      warning(
        "store size",
        `${gib(bytes)}, and ${gib(freeBytes)} are free: a backup, or a later release's conversion, needs room for a copy`,
      ),
    );
  const { flushIntervalMs } = rateLimits;
  const upMs = Number(status["uptime_seconds"] ?? 0) * 1000;
  const lateMs = Math.max(snapshotLateMsMin, intervalsMissed * flushIntervalMs);
  if (flushIntervalMs > 0 && flushedAt !== undefined && upMs > lateMs) {
    const ageMs = typeof flushedAt === "string" ? nowMs - Date.parse(flushedAt) : upMs;
    const age = `${Math.round(ageMs / 1000)} s ago`;
    findings.push(
      ageMs > lateMs
        ? warning(
            "snapshot",
            `the counters were last written ${age}, and are due every ${flushIntervalMs / 1000} s: see the daemon's log`,
          )
        : ok("snapshot", age),
    );
  }
  append(findings, checkBackups(status, nowMs));
  return findings;
}

/** No findings for a daemon that doesn't record backups. */
function checkBackups(status: Fields, nowMs: number): readonly Finding[] {
  const store = isObject(status["store"]) ? status["store"] : {};
  const { last_backup_at: lastAt, backups_noted_since: since, has_usage: hasUsage } = store;
  if (typeof since !== "string") return [];
  const ageMs = nowMs - Date.parse(typeof lastAt === "string" ? lastAt : since);
  const isDue = ageMs > backupDueDays * dayMs && (hasUsage === true || Number(status["keys"]) > 0);
  const age = formatDuration(Math.max(0, Math.round(ageMs / 1000)));
  const text =
    typeof lastAt === "string"
      ? `the last one was made ${age} ago`
      : `none was made since ${dayOf(Date.parse(since))}`;
  return [
    isDue
      ? warning("backup", `${text}: sluice backup FILE, daily by a timer (docs/backup.md)`)
      : ok("backup", text),
  ];
}

function gib(bytes: number): string {
  return `${(bytes / gibibyte).toFixed(1)} GiB`;
}

/** `isConfigured`: whether the configuration has `cluster.url`. */
export function checkCluster(status: Fields, isConfigured: boolean): readonly Finding[] {
  const cluster = isObject(status["cluster"]) ? status["cluster"] : null;
  if (cluster === null)
    return isConfigured
      ? [
          warning(
            "cluster",
            "cluster.url is set, and the daemon that runs shares nothing: sluice reload",
          ),
        ]
      : [];
  const { engine, engine_failing: failing, failure_mode: mode } = cluster;
  const hosts = (Array.isArray(cluster["hosts"]) ? cluster["hosts"] : []).filter(isObject);
  const alive = hosts.filter((host) => host["alive"] === true);
  const name = (host: Fields): string => String(host["name"]);
  return [
    engine === "connected"
      ? ok("cluster", `the engine is reached; ${alive.length} of ${hosts.length} hosts are there`)
      : failedFinding(
          "cluster",
          `the engine isn't reached (${String(failing ?? engine)}), so cluster.failure_mode ${String(mode)} decides: cluster.url, the engine, the network between (docs/several-hosts.md)`,
        ),
    ...(engine === "connected" && cluster["changes_heard"] === false
      ? [warning("cluster", "what other hosts change isn't heard at once, and is read each second")]
      : []),
    ...hosts
      .filter((host) => host["alive"] === false)
      .map((host) =>
        warning(
          "cluster",
          `${name(host)} has been silent for ${String(host["silent_seconds"])} s: is it to be there?`,
        ),
      ),
    ...hosts
      .filter((host) => host["configuration_differs"] === true)
      .map((host) =>
        warning(
          "cluster",
          `the configuration of ${name(host)} declares other limits: give all hosts the same`,
        ),
      ),
  ];
}

interface ClockFacts {
  /** Whether the host reports that its clock is synchronized. */
  readonly synchronized: boolean | null;
  /** How long the daemon has been running, by a clock that can't be set. */
  readonly daemonAgeSeconds: number | null;
}

const steppedSecondsMax = 5;
/** A daemon reads the clock once it has read its store. */
const startSecondsMax = 60;

export function checkHostClock(
  { synchronized, daemonAgeSeconds: age }: ClockFacts,
  status: Fields,
): readonly Finding[] {
  const up = status["uptime_seconds"];
  const ahead = age !== null && typeof up === "number" ? up - age : 0;
  const isStepped = ahead > steppedSecondsMax || ahead < -startSecondsMax;
  return [
    ...(synchronized === null
      ? []
      : synchronized
        ? [ok("clock", "synchronized")]
        : [
            warning(
              "clock",
              "nothing keeps it right: windows, budgets and expiries follow it; timedatectl set-ntp true, or chrony",
            ),
          ]),
    ...(isStepped
      ? [
          warning(
            "clock",
            `was set ${Math.abs(ahead).toFixed(0)} s ${ahead > 0 ? "forward" : "back"} since the daemon's start: windows that ran then ended early or late; let NTP keep it, which does so in small steps`,
          ),
        ]
      : []),
  ];
}
