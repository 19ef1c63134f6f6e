/** The table of managed keys. Pure; the keys are the objects of the admin API. */
import {
  type Column,
  plainView,
  renderFields,
  renderTable,
  type TableView,
} from "../text/table.js";
import type { ListedKey } from "./list-keys.js";

const columns: readonly Column<ListedKey>[] = [
  { title: "ID", align: "left", text: ({ id }) => cellText(id) },
  { title: "NAME", align: "left", text: ({ name }) => cellText(name) },
  {
    title: "PATH",
    align: "left",
    text: ({ user_path: path, role }) =>
      path !== null ? cellText(path) : typeof role === "string" ? "/" : "(the caller's)",
  },
  {
    title: "LABELS",
    detail: true,
    align: "left",
    text: ({ labels }) => (Array.isArray(labels) && labels.length > 0 ? labels.join(", ") : "-"),
  },
  {
    title: "MODELS",
    detail: true,
    align: "left",
    text: ({ models, role }) =>
      typeof role === "string"
        ? `none: ${role}`
        : Array.isArray(models)
          ? models.join(", ")
          : "(any)",
  },
  {
    title: "KEY",
    detail: true,
    align: "left",
    text: ({ redacted_value: redacted }) => cellText(redacted),
  },
  {
    title: "STATUS",
    align: "left",
    text: ({ status }) => cellText(status),
    tone: ({ status }) => (status === "active" ? null : "warn"),
  },
  {
    title: "EXPIRES",
    detail: true,
    align: "left",
    text: ({ expires_at: time }) => (time === null ? "never" : cellText(time)),
  },
  {
    title: "LAST USED",
    align: "left",
    text: ({ last_used_at: time }) => (time === null ? "never" : cellText(time)),
  },
  { title: "CREATED", detail: true, align: "left", text: ({ created_at: time }) => cellText(time) },
];

/**
 * The table of `keys list`, and below it the old secrets that still work; one sentence when there
 * is nothing to show.
 */
export function renderKeys(keys: readonly ListedKey[], view: TableView = plainView): string {
  if (keys.length === 0) return "no keys";
  const rotated = keys
    .filter((key) => oldSecrets(key).length > 0)
    .map((key) => `${cellText(key["id"])} was rotated: ${oldSecretsText(key)}`);
  return [renderTable(columns, keys, view), ...rotated].join("\n");
}

/** What `keys show` prints. */
export function renderKey(key: ListedKey): string {
  const visible = columns
    .filter(({ title }) => title !== "ID")
    .map((column) => [column.title.toLowerCase(), column.text(key)] as const);
  const old = oldSecrets(key).length === 0 ? [] : [["old secret", oldSecretsText(key)] as const];
  return `${cellText(key["id"])}\n${renderFields([...visible, ...old])}`;
}

/** Until when the old secrets of a key work. */
export function oldSecretsText(key: ListedKey): string {
  const until = oldSecrets(key).map(
    ({ redacted_value: redacted, expires_at: expiresAt, last_used_at: used }) =>
      `${cellText(redacted)} works until ${cellText(expiresAt)}, last used ${used === null ? "never" : cellText(used)}`,
  );
  return until.length === 0 ? "no old secret works any more" : until.join("; ");
}

function oldSecrets({ old_secrets: old }: ListedKey): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(old) ? old : [];
}

function cellText(value: unknown): string {
  return typeof value === "string" ? value : "-";
}
