/** The table of managed keys. Pure; the keys are the objects of the admin API. */
import { type Column, renderTable } from "../text/table.js";
import type { ListedKey } from "./list-keys.js";

const columns: readonly Column<ListedKey>[] = [
  { title: "ID", align: "left", text: ({ id }) => text(id) },
  { title: "NAME", align: "left", text: ({ name }) => text(name) },
  {
    title: "PATH",
    align: "left",
    text: ({ user_path: path, role }) =>
      path !== null ? text(path) : typeof role === "string" ? "/" : "(the caller's)",
  },
  {
    title: "LABELS",
    align: "left",
    text: ({ labels }) => (Array.isArray(labels) && labels.length > 0 ? labels.join(", ") : "-"),
  },
  {
    title: "MODELS",
    align: "left",
    text: ({ models, role }) =>
      typeof role === "string"
        ? `none: ${role}`
        : Array.isArray(models)
          ? models.join(", ")
          : "(any)",
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

/**
 * The table of `keys list`, and below it the old secrets that still work; one sentence when there
 * is nothing to show.
 */
export function renderKeys(keys: readonly ListedKey[]): string {
  if (keys.length === 0) return "no keys";
  const rotated = keys
    .filter((key) => oldSecrets(key).length > 0)
    .map((key) => `${text(key["id"])} was rotated: ${oldSecretsText(key)}`);
  return [renderTable(columns, keys), ...rotated].join("\n");
}

/** Until when the old secrets of a key work. */
export function oldSecretsText(key: ListedKey): string {
  const until = oldSecrets(key).map(
    ({ redacted_value: redacted, expires_at: at, last_used_at: used }) =>
      `${text(redacted)} works until ${text(at)}, last used ${used === null ? "never" : text(used)}`,
  );
  return until.length === 0 ? "no old secret works any more" : until.join("; ");
}

function oldSecrets({ old_secrets: old }: ListedKey): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(old) ? old : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "-";
}
