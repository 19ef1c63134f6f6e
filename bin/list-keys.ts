/** The managed keys, fetched from the daemon and shown. The keys are the API's own objects. */
import type { DaemonClient } from "../shared/daemon-client.js";
import { answered } from "./list-rules.js";
import { type Column, renderTable } from "./table.js";

export type ListedKey = Readonly<Record<string, unknown>>;

/** All pages of the daemon's list, newest first. */
export async function listKeys(client: DaemonClient): Promise<readonly ListedKey[]> {
  const keys: ListedKey[] = [];
  let after: number | null = null;
  for (;;) {
    const page = answered(await client.call("keys.list", { after })) as { readonly keys: readonly ListedKey[]; readonly next: number | null };
    keys.push(...page.keys);
    if (page.next === null) return keys;
    after = page.next;
  }
}

const columns: readonly Column[] = ["ID", "NAME", "PATH", "LABELS", "KEY", "STATUS", "EXPIRES", "CREATED"].map((title) => ({ title, align: "left" }));

/** The table of `keys list`; one sentence when there is nothing to show. */
export function renderKeys(keys: readonly ListedKey[]): string {
  if (keys.length === 0) return "no keys";
  return renderTable(columns, keys.map((key) => [
    text(key["id"]),
    text(key["name"]),
    key["user_path"] === null ? "(the caller's)" : text(key["user_path"]),
    Array.isArray(key["labels"]) && key["labels"].length > 0 ? key["labels"].join(", ") : "-",
    text(key["redacted_value"]),
    text(key["status"]),
    key["expires_at"] === null ? "never" : text(key["expires_at"]),
    text(key["created_at"]),
  ]));
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "-";
}
