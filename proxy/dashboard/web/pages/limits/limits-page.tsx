/**
 * The page of rules and their use, one tab for each scope, with buttons to create and change them.
 */
import { useState } from "preact/hooks";
import { hrefOf } from "../../data/router.js";
import { limitQuery } from "../../logic/list-page.js";
import { useApp } from "../../parts/app.js";
import { ChangeButton } from "../../parts/change-button.js";
import { Icon } from "../../parts/icon.js";
import { useRules } from "../../parts/limits/use-live-list.js";
import { FilterSelect, SearchFilter } from "../../parts/lists/filters.js";
import { Card, Empty, PageHead, WhenReady } from "../../parts/page.js";
import { Paging } from "../../parts/paging.js";
import { Tabs } from "../../parts/tabs.js";
import { limitsTexts as texts } from "../../texts/limits-texts.js";
import { LimitsDialog, type OpenDialog } from "./limits-dialog.js";
import { Queues } from "./queues.js";
import { RuleTable } from "./rule-table.js";

const scopes = ["user_path", "provider", "model"] as const;
type RuleScope = (typeof scopes)[number];

export function LimitsPage() {
  const { router } = useApp();
  const { query } = router.place.value;
  const scope: RuleScope =
    scopes.find((candidate) => candidate === query.get("scope")) ?? "user_path";
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const rules = useRules(limitQuery(query, ["source", "order"], scope));
  const polled = rules.polled;
  return (
    <>
      <PageHead
        title={texts.title}
        actions={
          <>
            <ChangeButton
              needs="POST /admin/rate-limits/reset"
              onClick={() => setDialog({ kind: "reset-all" })}
            >
              {texts.resetAll}
            </ChangeButton>
            <AddButton onAdd={() => setDialog({ kind: "add", scope })} />
          </>
        }
      >
        {texts.about}
      </PageHead>
      <div class="stack">
        <Tabs
          label={texts.tabsLabel}
          current={scope}
          tabs={scopes.map((tab) => ({
            key: tab,
            text: texts.tabs[tab],
            href: hrefOf("limits", { scope: tab === "user_path" ? null : tab }),
          }))}
        />
        <Filters />
        <Card>
          <WhenReady polled={polled} onRetry={() => rules.refresh()}>
            {(page) =>
              page.rate_limits.length === 0 ? (
                <NoRules scope={scope} onAdd={() => setDialog({ kind: "add", scope })} />
              ) : (
                <>
                  <RuleTable
                    scope={scope}
                    rules={page.rate_limits}
                    serverTime={page.server_time}
                    heardMs={polled.heardMs}
                    onOpen={setDialog}
                  />
                  <Paging
                    rows={page.rate_limits.length}
                    next={page.next}
                    heardMs={polled.heardMs}
                  />
                </>
              )
            }
          </WhenReady>
        </Card>
        <Queues />
      </div>
      {dialog !== null && (
        <LimitsDialog
          dialog={dialog}
          onClose={() => setDialog(null)}
          onChanged={() => rules.refresh()}
        />
      )}
    </>
  );
}

function AddButton({ onAdd }: { readonly onAdd: () => void }) {
  return (
    <ChangeButton needs="PUT /admin/rate-limits" look="primary" onClick={onAdd}>
      <Icon name="plus" />
      {texts.add}
    </ChangeButton>
  );
}

function Filters() {
  return (
    <div class="filters">
      <SearchFilter label={texts.search} />
      <FilterSelect name="order" label={texts.order} options={Object.entries(texts.orders)} />
      <FilterSelect
        name="source"
        label={texts.source}
        options={[
          ["", texts.sources.all],
          ["manual", texts.sources.manual],
          ["config", texts.sources.config],
        ]}
      />
    </div>
  );
}

function NoRules({ scope, onAdd }: { readonly scope: RuleScope; readonly onAdd: () => void }) {
  const { router } = useApp();
  const { query } = router.place.value;
  if (query.has("search") || query.has("source"))
    return <Empty icon="search" title={texts.empty.found} />;
  return (
    <Empty icon="limits" title={texts.empty.title} action={<AddButton onAdd={onAdd} />}>
      {texts.empty.text[scope]}
    </Empty>
  );
}
