/** The page of managed keys: their owners, when each was last used, and the actions on them. */
import { useState } from "preact/hooks";
import type { KeyItem, KeyPage } from "../../../../../shared/api/key-item.js";
import type { UsageSummary } from "../../../../../shared/api/usage-report.js";
import { hrefOf } from "../../data/router.js";
import { listPath } from "../../logic/list-page.js";
import { formatMoney } from "../../logic/numbers.js";
import { Ago } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { ChangeButton, useMay } from "../../parts/change-button.js";
import { Icon } from "../../parts/icon.js";
import { FilterSelect, SearchFilter } from "../../parts/lists/filters.js";
import { ListCard } from "../../parts/lists/list-card.js";
import { SelectedBar, useSelection } from "../../parts/lists/selection.js";
import { PageHead } from "../../parts/page.js";
import { type Column, CutText } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { keysTexts as texts } from "../../texts/keys-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { EndKeysDialog, IssueDialog, RotateDialog, SecretDialog } from "./key-dialogs.js";

const address = "/admin/auth-keys";
const filters = ["status", "unused_seconds", "expires_seconds"];

type Open =
  | { readonly kind: "issue" }
  | { readonly kind: "rotate"; readonly key: KeyItem }
  | { readonly kind: "deactivate" | "delete"; readonly keys: readonly KeyItem[] }
  /** Only this page has the new secret, until the dialog is closed or the page is left. */
  | { readonly kind: "secret"; readonly value: string; readonly notice: string | null };

export function KeysPage() {
  const { query } = useApp().router.place.value;
  const list = useListPoll<KeyPage>(listPath(address, query, filters));
  const usage = useListPoll<UsageSummary>("/admin/usage?by=key&days=30", { everyMs: 60_000 });
  const costs = new Map(usage.polled.body?.groups.map(({ key, total_cost }) => [key, total_cost]));
  const may = useMay();
  const [open, setOpen] = useState<Open | null>(null);
  const isFiltered = ["search", ...filters].some((name) => query.has(name));
  const selection = useSelection({
    rows: list.polled.body?.auth_keys ?? [],
    keyOf: ({ id }) => id,
    nameOf,
  });
  const issue = (
    <ChangeButton
      needs="POST /admin/auth-keys"
      look="primary"
      onClick={() => setOpen({ kind: "issue" })}
    >
      <Icon name="plus" />
      {texts.issue}
    </ChangeButton>
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
          <FilterSelect name="unused_seconds" label={texts.use} options={texts.uses} />
          <FilterSelect name="expires_seconds" label={texts.expiry} options={texts.expiries} />
        </div>
        <ListCard
          list={list}
          rowsOf={(page) => page.auth_keys}
          caption={texts.caption}
          columns={columnsOf(list.polled.body, costs, setOpen)}
          selection={may(`DELETE ${address}/{id}`) ? selection : null}
          isCompact
          keyOf={(key) => key.id}
          icon="keys"
          none={isFiltered ? texts.none : texts.empty}
        />
        <SelectedBar selection={selection}>
          {(["deactivate", "delete"] as const).map((kind) => (
            <ChangeButton
              key={kind}
              needs={needs[kind]}
              look="danger"
              onClick={() => setOpen({ kind, keys: selection.rows })}
            >
              {texts.many[kind]}
            </ChangeButton>
          ))}
        </SelectedBar>
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
  /** `next`: the dialog that shows the secret, if there is one. */
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
    return <RotateDialog item={open.key} onRotated={onSecret} onClose={onClose} />;
  return (
    <EndKeysDialog
      items={open.keys}
      how={open.kind}
      onEnded={() => onDone(null)}
      onClose={onClose}
    />
  );
}

/** The name of a key in a sentence. */
function nameOf(key: KeyItem): string {
  return key.name ?? key.id;
}

function columnsOf(
  page: KeyPage | null,
  costs: ReadonlyMap<string, number>,
  onOpen: (open: Open) => void,
): readonly Column<KeyItem>[] {
  const heads = texts.columns;
  const serverTime = page?.server_time ?? "";
  const models: Column<KeyItem> = {
    key: "models",
    head: heads.models,
    sortBy: ({ models }) => models?.join(),
    cell: ({ models }) =>
      models === null ? null : <CutText look="small" text={models.join(", ")} />,
  };
  return [
    {
      key: "name",
      head: heads.name,
      kind: "lead",
      sortBy: nameOf,
      cell: (key) => <KeyName item={key} />,
    },
    { key: "brief", head: heads.status, isBrief: true, cell: (key) => <KeyState item={key} /> },
    {
      key: "path",
      head: heads.path,
      sortBy: ({ user_path }) => user_path,
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
      sortBy: ({ labels }) => labels.join() || null,
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
    // On most gateways every key may call any model.
    ...(page?.auth_keys.some((key) => key.models !== null) === true ? [models] : []),
    {
      key: "cost",
      head: heads.cost,
      kind: "number",
      sortBy: ({ id }) => costs.get(id),
      cell: ({ id }) => {
        const cost = costs.get(id);
        return cost === undefined ? null : (
          <a href={hrefOf("requests", { tab: "recent", key: id })}>{formatMoney(cost)}</a>
        );
      },
    },
    {
      key: "status",
      head: heads.status,
      sortBy: ({ status, expires_at }) => `${status} ${expires_at ?? "never"}`,
      cell: (key) => <KeyState item={key} />,
    },
    {
      key: "used",
      head: heads.lastUsed,
      // Unused keys first, then those with the oldest last use.
      fromSmallest: true,
      sortBy: ({ last_used_at }) => last_used_at ?? "",
      cell: ({ last_used_at }) => <Ago moment={last_used_at} now={serverTime} />,
    },
    {
      key: "created",
      head: heads.created,
      sortBy: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Ago moment={created_at} now={serverTime} />,
    },
    { key: "end", head: heads.actions, kind: "end", cell: (key) => keyActions(key, onOpen) },
  ];
}

function KeyName({ item: { id, name, redacted_value, old_secrets } }: { readonly item: KeyItem }) {
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

function KeyState({ item: { status, expires_at } }: { readonly item: KeyItem }) {
  return (
    <span class="two-lines">
      <span class={`badge ${status === "active" ? "good" : ""}`}>{texts.statuses[status]}</span>
      {status === "active" && expires_at !== null && (
        <span class="soft small nowrap">{texts.expires(expires_at.slice(0, 10))}</span>
      )}
    </span>
  );
}

const needs = {
  rotate: `POST ${address}/{id}/rotate`,
  deactivate: `POST ${address}/{id}/deactivate`,
  delete: `DELETE ${address}/{id}`,
} as const;

function keyActions(key: KeyItem, onOpen: (open: Open) => void) {
  const button = (kind: keyof typeof needs, icon: "reset" | "lock" | "trash") => (
    <ChangeButton
      needs={needs[kind]}
      look="ghost square"
      words={`${texts[kind]} ${nameOf(key)}`}
      onClick={() => onOpen(kind === "rotate" ? { kind, key } : { kind, keys: [key] })}
    >
      <Icon name={icon} />
    </ChangeButton>
  );
  return (
    <span class="row-actions">
      {key.active && button("rotate", "reset")}
      {key.status !== "deactivated" && button("deactivate", "lock")}
      {button("delete", "trash")}
    </span>
  );
}
