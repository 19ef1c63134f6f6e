/** The table of managed keys. Pure; the keys are the objects of the admin API. */
import { type Column, renderTable } from "../text/table.js";
import type { ListedKey } from "./list-keys.js";

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
  {
    title: "LAST USED",
    align: "left",
    text: ({ last_used_at: at }) => (at === null ? "never" : text(at)),
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
