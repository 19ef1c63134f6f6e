/**
 * The schemas of the store and the migrations between them. The store contains the schema's number,
 * which grows when a release stores an entry in a form that the release before can't read.
 */
import { assert } from "../../shared/assert.js";
import { type Change, type Store, StoreUnreadableError } from "./store.js";

export interface Migration {
  /** The schema after the migration; it starts from the one below. */
  readonly to: number;
  /** The changes that it makes to the store, all in one commit. */
  changes(store: Pick<Store, "entries" | "get" | "range">): Iterable<Change>;
}

/** In order. The first release has the schema 1. */
export const storeMigrations: readonly Migration[] = [];

/** The schema that a list of migrations leads to. */
export function schemaAfter(migrations: readonly Migration[]): number {
  for (const [i, { to }] of migrations.entries()) assert(to === i + 2, "a schema is left out");
  return migrations.length + 1;
}

/** The migrations that a store of this schema needs. Throws as `refuseNewerSchema`. */
export function neededMigrations(
  file: string,
  schema: number,
  migrations: readonly Migration[] = storeMigrations,
): readonly Migration[] {
  refuseNewerSchema(file, schema, migrations);
  return migrations.filter(({ to }) => to > schema);
}

/** Throws `StoreUnreadableError` for the store of a later release. */
export function refuseNewerSchema(
  file: string,
  schema: number,
  migrations: readonly Migration[] = storeMigrations,
): void {
  const newest = schemaAfter(migrations);
  if (schema > newest)
    throw new StoreUnreadableError(
      `${file} was written by a later release: it has the schema ${schema}, and this Sluice reads up to ${newest}. Install that release again, or restore a backup from before the upgrade`,
    );
}
