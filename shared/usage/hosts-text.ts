/**
 * The words of the command line and the dashboard for figures that several hosts share: which hosts
 * they cover, and their age. Pure.
 */
import { greatest } from "../long-lists.js";

/** The hosts whose usage a report's sums contain, if hosts share usage. */
export interface CountedHosts {
  readonly scope: "all_hosts" | "this_host";
  /** The number of hosts in the sums, including this one. */
  readonly count: number;
  /** The age of the oldest host's part. */
  readonly oldest_seconds: number;
  /** Whether each host's part is complete as of its age. */
  readonly complete: boolean;
  /** Set for the scope `this_host`: why the others' usage is missing. */
  readonly reason?: string;
}

/** `of 3 hosts, as of 4 s ago`. */
export function hostsText({
  scope,
  count,
  oldest_seconds,
  complete,
  reason,
}: CountedHosts): string {
  if (scope === "this_host") return `of this host alone: ${reason ?? "the others can't be read"}`;
  const whose = count === 1 ? "of this host, the only one so far" : `of ${count} hosts`;
  const age = count === 1 ? "" : `, as of ${ageText(oldest_seconds)}`;
  return `${whose}${age}${complete ? "" : "; some have yet to publish all of theirs"}`;
}

interface SpentElsewhere {
  readonly other_hosts?: { readonly age_seconds: number | null };
}

/** For budgets shown together; null if hosts share none of them. */
export function spentElsewhereText(budgets: readonly SpentElsewhere[]): string | null {
  const shared = budgets.flatMap(({ other_hosts }) => other_hosts ?? []);
  if (shared.length === 0) return null;
  const ages = shared.map(({ age_seconds }) => age_seconds);
  if (ages.includes(null)) return "of some budgets it isn't known yet what other hosts have spent";
  const oldest = greatest(ages.map((age) => age ?? 0));
  return `with what other hosts have spent, as of ${ageText(oldest)}`;
}

/** `5 s ago`, `12 min ago`, `3 h ago`, `4 days ago`. */
export function ageText(seconds: number): string {
  if (seconds < 1) return "now";
  if (seconds < 120) return `${Math.floor(seconds)} s ago`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} days ago`;
}
