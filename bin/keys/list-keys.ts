/** Fetches the managed keys from the daemon. `key-table.ts` shows them. */
import { append } from "../../shared/long-lists.js";
import { bodyOrThrow } from "../session/daemon-answer.js";
import type { AdminClient } from "../session/with-daemon.js";

/** A key as the admin API lists it, with the names of the API. */
export type ListedKey = Readonly<Record<string, unknown>>;

/** As the body of `keys.list` has them. */
interface KeyFilter {
  readonly user_path?: string;
  readonly status?: string | null;
  readonly unused_seconds?: number | null;
  readonly expires_seconds?: number | null;
}

/** All pages of the daemon's list, newest first. */
export async function listKeys(
  client: AdminClient,
  filter: KeyFilter = {},
): Promise<readonly ListedKey[]> {
  const keys: ListedKey[] = [];
  let after: string | null = null;
  for (;;) {
    const page = bodyOrThrow(await client.call("keys.list", { ...filter, after })) as {
      readonly keys: readonly ListedKey[];
      readonly next: string | null;
    };
    append(keys, page.keys);
    if (page.next === null) return keys;
    after = page.next;
  }
}
