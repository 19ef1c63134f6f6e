/** The doctor's findings on the daemon and the proxy, from what they report. Pure. */
import { isObject } from "../../shared/checked.js";
import { type Finding, failedFinding, ok, warning } from "./finding.js";

type Fields = Readonly<Record<string, unknown>>;

export function checkDaemon(status: Fields, version: string): readonly Finding[] {
  const store = isObject(status["store"]) ? status["store"] : {};
  const inert = Array.isArray(status["inert"]) ? status["inert"].map(String) : [];
  const older = Number(status["older_proxies"] ?? 0);
  return [
    sameVersion("daemon", status["version"], version),
    typeof store["failing"] === "string"
      ? failedFinding("store", `can't be written: ${store["failing"]}`)
      : ok("store", `${String(store["file"] ?? "")}, written`),
    ...(Number(store["failed_commits"] ?? 0) > 0
      ? [
          warning(
            "store",
            `${String(store["failed_commits"])} commits have failed since the daemon's start: see its log`,
          ),
        ]
      : []),
    ...(Number(status["dropped_records"] ?? 0) > 0
      ? [
          warning(
            "records",
            `${String(status["dropped_records"])} records were lost since the daemon's start`,
          ),
        ]
      : []),
    ...(older > 0
      ? [warning("proxies", `${older} of ${String(status["proxies"])} are of an older release`)]
      : []),
    ...(Number(status["proxies"] ?? 0) === 0 ? [warning("proxies", "none is connected")] : []),
    ...inert.map((rule) => warning("rules", `does nothing: ${rule}`)),
  ];
}

/** `health`: the body of /health; null if there was no answer, for `reason`. */
export function checkProxy(health: unknown, reason: string | null, version: string): Finding[] {
  if (!isObject(health)) return [warning("proxy", `not reached: ${reason ?? "no answer"}`)];
  const limiter = isObject(health["limiter"]) ? health["limiter"] : {};
  return [
    sameVersion("proxy", health["version"], version),
    limiter["reachable"] === false
      ? failedFinding("proxy", "it doesn't reach its daemon: see its log")
      : ok("proxy", "reaches its daemon"),
    ...checkPriceList(health["price_list"]),
  ];
}

/** New models appear every week. */
const listAgeMaxDays = 60;

function checkPriceList(list: unknown): readonly Finding[] {
  if (!isObject(list)) return [];
  const { date, age_days: days, file } = list;
  const text = `of ${String(date)}, ${String(days)} days old: ${String(file)}`;
  return [
    Number(days) > listAgeMaxDays
      ? warning("price list", `${text}; run \`sluice prices update\``)
      : ok("price list", text),
  ];
}

function sameVersion(check: string, theirs: unknown, ours: string): Finding {
  return theirs === ours || theirs === undefined
    ? ok(check, `version ${String(theirs ?? "unknown")}`)
    : warning(
        check,
        `version ${String(theirs)}, and this command line is ${ours}: restart what is older`,
      );
}

/** Models that were used without a price, from the groups of a summary by model. */
export function checkPrices(groups: unknown): readonly Finding[] {
  const unpriced = (Array.isArray(groups) ? groups : [])
    .filter(isObject)
    .filter((group) => Number(group["unpriced_requests"] ?? 0) > 0)
    .map((group) => String(group["key"]));
  return unpriced.length === 0
    ? [ok("prices", "every model of the last 7 days has one")]
    : [warning("prices", `none for ${namesOf(unpriced)}: no budget counts them; see prices`)];
}

/** Models that the configuration names and that have no price. */
export function checkConfiguredPrices(
  unpriced: readonly string[],
  hasBudgets: boolean,
): readonly Finding[] {
  if (unpriced.length === 0) return [];
  const text = `the configuration names models without one: ${namesOf(unpriced)}`;
  return [
    hasBudgets
      ? warning("prices", `${text}; no budget counts them, unless an answer names a priced model`)
      : ok("prices", text),
  ];
}

/** `unpriced`: the models without a price that only managed keys, rules and budgets name. */
export function checkNamedPrices(
  unpriced: readonly string[],
  hasBudgets: boolean,
): readonly Finding[] {
  if (unpriced.length === 0) return [];
  const text = `managed keys, rules or budgets name models without one: ${namesOf(unpriced)}`;
  return [hasBudgets ? warning("prices", `${text}; no budget counts them`) : ok("prices", text)];
}

const clockOffMaxMs = 5_000;

/** `offsetsMs`: how far this host's clock is ahead of each provider's. */
export function checkClock(offsetsMs: readonly number[]): readonly Finding[] {
  if (offsetsMs.length === 0) return [];
  const sorted = [...offsetsMs].sort((a, b) => a - b);
  const offset = sorted[Math.floor(sorted.length / 2)]!;
  const seconds = (Math.abs(offset) / 1000).toFixed(0);
  return [
    Math.abs(offset) > clockOffMaxMs
      ? warning(
          "clock",
          `${seconds} s ${offset > 0 ? "ahead of" : "behind"} the providers': windows and expiries follow it; set it by NTP`,
        )
      : ok("clock", "as the providers'"),
  ];
}

const namesMax = 10;

function namesOf(models: readonly string[]): string {
  const more = models.length - namesMax;
  return `${models.slice(0, namesMax).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
