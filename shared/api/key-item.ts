/** Managed keys as /admin/auth-keys shows them (docs/authentication.md): never what they are. */
import type { KeyStatus } from "../domain/managed-key.js";
import type { ListPage } from "./list-page.js";

/** A secret from before a rotation that still works. */
interface OldSecretItem {
  readonly redacted_value: string;
  /** Whole seconds, as all moments of keys. */
  readonly expires_at: string;
  /** Null: it never was. */
  readonly last_used_at: string | null;
}

export interface KeyItem {
  /** `key_7`. */
  readonly id: string;
  /** Null without one. */
  readonly name: string | null;
  /** What the key is bound to; null: its caller names the path. */
  readonly user_path: string | null;
  readonly labels: readonly string[];
  /** The models that it may use, in lower case; null: any. */
  readonly models: readonly string[] | null;
  /** The beginning of the key, by which its owner recognizes it. */
  readonly redacted_value: string;
  /** By the daemon's clock. */
  readonly status: KeyStatus;
  /** Whether `status` is `active`. */
  readonly active: boolean;
  readonly created_at: string;
  /** Null: it doesn't expire. */
  readonly expires_at: string | null;
  readonly deactivated_at: string | null;
  /** When a request last called with the key; null if none did. */
  readonly last_used_at: string | null;
  readonly old_secrets: readonly OldSecretItem[];
}

/** The answer to the making of a key, or of a new secret for one. */
export interface IssuedKey extends KeyItem {
  /** The key, shown this once. */
  readonly value: string;
  /** Only with the first key of an open gateway: that it closes it. */
  readonly notice?: string;
}

/** A page of the daemon's: newest first. */
export interface ListedKeys extends ListPage {
  readonly keys: readonly KeyItem[];
  /** How many keys were ever issued, deleted ones included. */
  readonly issued: number;
}

/** The same by GET /admin/auth-keys. The whole list is a bare array of the items. */
export interface KeyPage extends ListPage {
  readonly auth_keys: readonly KeyItem[];
}
