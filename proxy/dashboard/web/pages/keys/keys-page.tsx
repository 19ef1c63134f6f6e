/** The managed keys: who has which, when each was last used, and all that can be done to them. */
import { useState } from "preact/hooks";
import type { KeyItem, KeyPage } from "../../../../../shared/api/key-item.js";
import { listPath } from "../../logic/list-page.js";
import { Ago } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { Icon } from "../../parts/icon.js";
import { FilterSelect, SearchFilter } from "../../parts/lists/filters.js";
import { ListCard } from "../../parts/lists/list-card.js";
import { useSorting } from "../../parts/lists/use-sorting.js";
import { PageHead } from "../../parts/page.js";
import type { Column } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { keysTexts as texts } from "../../texts/keys-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { EndKeyDialog, IssueDialog, RotateDialog, SecretDialog } from "./key-dialogs.js";

const address = "/admin/auth-keys";

type Open =
  | { readonly kind: "issue" }
  | { readonly kind: "rotate" | "deactivate" | "delete"; readonly key: KeyItem }
  /** The new secret is held by this page alone, until the dialog is closed or the page left. */
  | { readonly kind: "secret"; readonly value: string; readonly notice: string | null };

export function KeysPage() {
  const { query } = useApp().router.place.value;
  const list = useListPoll<KeyPage>(listPath(address, query, ["status"]));
  const { sorting, sorted } = useSorting(keyOrders);
  const [open, setOpen] = useState<Open | null>(null);
  const isFiltered = ["search", "status"].some((name) => query.has(name));
  const issue = (
    <button type="button" class="button primary" onClick={() => setOpen({ kind: "issue" })}>
      <Icon name="plus" />
      {texts.issue}
    </button>
  );
  return (
    <>
      <PageHead title={shellTexts.pages.keys} actions={issue}>
        {texts.about}
      </PageHead>
      <div class="stack">
        <div class="filters">
          <SearchFilter label={texts.search} />
          <FilterSelect
            name="status"
            label={texts.status}
            options={[["", texts.anyStatus], ...Object.entries(texts.statuses)]}
          />
        </div>
        <ListCard
          list={list}
          rowsOf={(page) => sorted(page.auth_keys)}
          sorting={sorting}
          caption={texts.caption}
          columns={columnsOf(list.polled.body?.server_time ?? "", setOpen)}
          keyOf={(key) => key.id}
          icon="keys"
          none={isFiltered ? texts.none : texts.empty}
        />
      </div>
      <OpenDialog
        open={open}
        serverTime={list.polled.body?.server_time ?? null}
        onDone={(next) => {
          setOpen(next);
          list.refresh();
        }}
        onClose={() => setOpen(null)}
      />
    </>
  );
}

function OpenDialog({
  open,
  serverTime,
  onDone,
  onClose,
}: {
  readonly open: Open | null;
  readonly serverTime: string | null;
  /** With the secret to be shown, if there is one. */
  readonly onDone: (next: Open | null) => void;
  readonly onClose: () => void;
}) {
  if (open === null) return null;
  const onSecret = (value: string, notice: string | null): void =>
    onDone({ kind: "secret", value, notice });
  if (open.kind === "issue")
    return <IssueDialog serverTime={serverTime} onIssued={onSecret} onClose={onClose} />;
  if (open.kind === "secret")
    return <SecretDialog value={open.value} notice={open.notice} onClose={onClose} />;
  if (open.kind === "rotate")
    return <RotateDialog of={open.key} onRotated={onSecret} onClose={onClose} />;
  return (
    <EndKeyDialog of={open.key} how={open.kind} onEnded={() => onDone(null)} onClose={onClose} />
  );
}

const keyOrders = {
  name: nameOf,
  path: ({ user_path }: KeyItem) => user_path,
  status: ({ status, expires_at }: KeyItem) => `${status} ${expires_at ?? "never"}`,
  used: ({ last_used_at }: KeyItem) => last_used_at,
  created: ({ created_at }: KeyItem) => created_at,
};

/** What a key is called in a sentence. */
function nameOf(key: KeyItem): string {
  return key.name ?? key.id;
}

function columnsOf(serverTime: string, onOpen: (open: Open) => void): readonly Column<KeyItem>[] {
  const heads = texts.columns;
  return [
    {
      key: "name",
      head: heads.name,
      kind: "lead",
      sort: "name",
      cell: (key) => <KeyName of={key} />,
    },
    {
      key: "path",
      head: heads.path,
      sort: "path",
      cell: ({ user_path }) =>
        user_path === null ? (
          <span class="soft">{texts.anyPath}</span>
        ) : (
          <span class="path">{user_path}</span>
        ),
    },
    {
      key: "labels",
      head: heads.labels,
      cell: ({ labels }) =>
        labels.length === 0 ? null : (
          <span class="badges">
            {labels.map((label) => (
              <span class="badge" key={label}>
                {label}
              </span>
            ))}
          </span>
        ),
    },
    { key: "status", head: heads.status, sort: "status", cell: (key) => <KeyState of={key} /> },
    {
      key: "used",
      head: heads.lastUsed,
      sort: "used",
      cell: ({ last_used_at }) => <Ago moment={last_used_at} now={serverTime} />,
    },
    {
      key: "created",
      head: heads.created,
      sort: "created",
      cell: ({ created_at }) => <Ago moment={created_at} now={serverTime} />,
    },
    { key: "end", head: heads.actions, kind: "end", cell: (key) => keyActions(key, onOpen) },
  ];
}

function KeyName({ of: { id, name, redacted_value, old_secrets } }: { readonly of: KeyItem }) {
  return (
    <span class="two-lines">
      <span class={name === null ? "soft" : "strong"}>{name ?? texts.unnamed}</span>
      <span class="soft small">
        <code>{redacted_value}</code> {id}
        {old_secrets.length > 0 && `, ${texts.oldSecrets(old_secrets.length)}`}
      </span>
    </span>
  );
}

function KeyState({ of: { status, expires_at } }: { readonly of: KeyItem }) {
  return (
    <span class="two-lines">
      <span class={`badge ${status === "active" ? "good" : ""}`}>{texts.statuses[status]}</span>
      {status === "active" && expires_at !== null && (
        <span class="soft small nowrap">{texts.expires(expires_at.slice(0, 10))}</span>
      )}
    </span>
  );
}

function keyActions(key: KeyItem, onOpen: (open: Open) => void) {
  const button = (kind: "rotate" | "deactivate" | "delete", icon: "reset" | "lock" | "trash") => (
    <button
      type="button"
      class="button ghost square"
      aria-label={`${texts[kind]} ${nameOf(key)}`}
      title={texts[kind]}
      onClick={() => onOpen({ kind, key })}
    >
      <Icon name={icon} />
    </button>
  );
  return (
    <span class="row-actions">
      {key.active && button("rotate", "reset")}
      {key.status !== "deactivated" && button("deactivate", "lock")}
      {button("delete", "trash")}
    </span>
  );
}
