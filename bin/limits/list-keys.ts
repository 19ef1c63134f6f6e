/** The managed keys, fetched from the daemon and shown. The keys are the API's own objects. */
import type { DaemonClient } from "../../shared/wire/daemon-client.js";
import { answered } from "../session/answered.js";
import { type Column, renderTable } from "../text/table.js";

export type ListedKey = Readonly<Record<string, unknown>>;

/** All pages of the daemon's list, newest first. */
export async function listKeys(client: DaemonClient): Promise<readonly ListedKey[]> {
  const keys: ListedKey[] = [];
  let after: number | null = null;
  for (;;) {
    const page = answered(await client.call("keys.list", { after })) as {
      readonly keys: readonly ListedKey[];
      readonly next: number | null;
    };
    keys.push(...page.keys);
    if (page.next === null) return keys;
    after = page.next;
  }
}

const columns: readonly Column<ListedKey>[] = [
  { title: "ID", align: "left", text: ({ id }) => text(id) },
  { title: "NAME", align: "left", text: ({ name }) => text(name) },
  {
    title: "PATH",
    align: "left",
    text: ({ user_path: path }) => (path === null ? "(the caller's)" : text(path)),
  },
  {
    title: "LABELS",
    align: "left",
    text: ({ labels }) => (Array.isArray(labels) && labels.length > 0 ? labels.join(", ") : "-"),
  },
  { title: "KEY", align: "left", text: ({ redacted_value: redacted }) => text(redacted) },
  { title: "STATUS", align: "left", text: ({ status }) => text(status) },
  {
    title: "EXPIRES",
    align: "left",
    text: ({ expires_at: at }) => (at === null ? "never" : text(at)),
  },
  { title: "CREATED", align: "left", text: ({ created_at: at }) => text(at) },
];

/** The table of `keys list`; one sentence when there is nothing to show. */
export function renderKeys(keys: readonly ListedKey[]): string {
  return keys.length === 0 ? "no keys" : renderTable(columns, keys);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "-";
}
