/** Managed keys as /admin/auth-keys shows them (docs/authentication.md), without their secrets. */
import type { AdminRole } from "../access/admin-role.js";
import type { KeyStatus } from "../domain/managed-key.js";
import type { ListPage } from "./list-page.js";

/** A secret replaced by a rotation that still works. */
interface OldSecretItem {
  readonly redacted_value: string;
  /** In whole seconds, as all times of keys. */
  readonly expires_at: string;
  /** Null if it was never used. */
  readonly last_used_at: string | null;
}

export interface KeyItem {
  /** `key_7`. */
  readonly id: string;
  /** Null if the key has no name. */
  readonly name: string | null;
  /** The path that the key is bound to; null if the caller names the path. */
  readonly user_path: string | null;
  readonly labels: readonly string[];
  /** The models that the key may use, in lower case; null for any. */
  readonly models: readonly string[] | null;
  /** Only of a key of administration, which calls no models: `models` is empty. */
  readonly role?: AdminRole;
  /** The beginning of the key, by which its owner recognizes it; `…` if only its hash is known. */
  readonly redacted_value: string;
  /** By the daemon's clock. */
  readonly status: KeyStatus;
  /** Whether `status` is `active`. */
  readonly active: boolean;
  readonly created_at: string;
  /** Null if the key doesn't expire. */
  readonly expires_at: string | null;
  readonly deactivated_at: string | null;
  /** When a request last used the key; null if none did. */
  readonly last_used_at: string | null;
  readonly old_secrets: readonly OldSecretItem[];
}

/** The answer when a key is issued or gets a new secret; for an imported key without `value`. */
export interface IssuedKey extends KeyItem {
  /** The secret, which only this answer shows. */
  readonly value: string;
  /** A notice that the first key closes an open gateway; present only with that key. */
  readonly notice?: string;
}

/** A page of the list, from the daemon, newest key first. */
export interface ListedKeys extends ListPage {
  readonly keys: readonly KeyItem[];
  /** The number of keys ever issued, including deleted ones. */
  readonly issued: number;
}

/** A page of GET /admin/auth-keys. Without paging its answer is a bare array of the items. */
export interface KeyPage extends ListPage {
  readonly auth_keys: readonly KeyItem[];
}
