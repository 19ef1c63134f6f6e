/**
 * The page of budgets: their spend and when they run out, with buttons to create and change them.
 */
import { useState } from "preact/hooks";
import type { BudgetItem } from "../../../../../shared/api/budget-item.js";
import { spentElsewhereText } from "../../../../../shared/usage/hosts-text.js";
import { hrefOf } from "../../data/router.js";
import { limitQuery } from "../../logic/list-page.js";
import { useApp } from "../../parts/app.js";
import { ChangeButton } from "../../parts/change-button.js";
import { Icon } from "../../parts/icon.js";
import { useBudgets } from "../../parts/limits/use-live-list.js";
import { FilterSelect, SearchFilter } from "../../parts/lists/filters.js";
import { Card, Empty, PageHead, WhenReady } from "../../parts/page.js";
import { Paging } from "../../parts/paging.js";
import { Tabs } from "../../parts/tabs.js";
import { budgetsTexts as texts } from "../../texts/budgets-texts.js";
import { limitsTexts } from "../../texts/limits-texts.js";
import { BudgetTable } from "./budget-table.js";
import { BudgetsDialog, type OpenBudgetDialog } from "./budgets-dialog.js";

const scopes = ["user_path", "label", "provider", "model"] as const;
type Scope = (typeof scopes)[number];

export function BudgetsPage() {
  const { router } = useApp();
  const { query } = router.place.value;
  const scope: Scope = scopes.find((candidate) => candidate === query.get("scope")) ?? "user_path";
  const [dialog, setDialog] = useState<OpenBudgetDialog | null>(null);
  const budgets = useBudgets(limitQuery(query, ["order"], scope));
  const polled = budgets.polled;
  const add = (): void => setDialog({ kind: "add", scope });
  return (
    <>
      <PageHead title={texts.title} actions={<Actions onOpen={setDialog} onAdd={add} />}>
        {texts.about}
      </PageHead>
      <div class="stack">
        <Tabs
          label={texts.tabsLabel}
          current={scope}
          tabs={scopes.map((tab) => ({
            key: tab,
            text: texts.tabs[tab],
            href: hrefOf("budgets", { scope: tab === "user_path" ? null : tab }),
          }))}
        />
        <div class="filters">
          <SearchFilter label={texts.search} />
          <FilterSelect
            name="order"
            label={limitsTexts.order}
            options={Object.entries(limitsTexts.orders)}
          />
        </div>
        <Card>
          <WhenReady polled={polled} onRetry={() => budgets.refresh()}>
            {(page) =>
              page.budgets.length === 0 ? (
                <NoBudgets scope={scope} isFiltered={query.has("search")} onAdd={add} />
              ) : (
                <>
                  <BudgetTable
                    scope={scope}
                    budgets={page.budgets}
                    serverTime={page.server_time}
                    heardMs={polled.heardMs}
                    onOpen={setDialog}
                  />
                  <Paging rows={page.budgets.length} next={page.next} heardMs={polled.heardMs}>
                    {[texts.tick, spentElsewhere(page.budgets)].filter(Boolean).join(" ")}
                  </Paging>
                </>
              )
            }
          </WhenReady>
        </Card>
      </div>
      {dialog !== null && (
        <BudgetsDialog
          dialog={dialog}
          onClose={() => setDialog(null)}
          onChanged={() => budgets.refresh()}
        />
      )}
    </>
  );
}

/** How old the reported spend of other hosts is, if hosts share budgets. */
function spentElsewhere(budgets: readonly BudgetItem[]): string {
  const text = spentElsewhereText(budgets);
  return text === null ? "" : texts.spent(text);
}

function Actions({
  onOpen,
  onAdd,
}: {
  readonly onOpen: (dialog: OpenBudgetDialog) => void;
  readonly onAdd: () => void;
}) {
  return (
    <>
      <ChangeButton needs="PUT /admin/budgets/settings" onClick={() => onOpen({ kind: "anchors" })}>
        {texts.anchors}
      </ChangeButton>
      <ChangeButton needs="POST /admin/budgets/reset" onClick={() => onOpen({ kind: "reset-all" })}>
        {texts.resetAll}
      </ChangeButton>
      <AddButton onAdd={onAdd} />
    </>
  );
}

function AddButton({ onAdd }: { readonly onAdd: () => void }) {
  return (
    <ChangeButton needs="PUT /admin/budgets" look="primary" onClick={onAdd}>
      <Icon name="plus" />
      {texts.add}
    </ChangeButton>
  );
}

function NoBudgets({
  scope,
  isFiltered,
  onAdd,
}: {
  readonly scope: Scope;
  readonly isFiltered: boolean;
  readonly onAdd: () => void;
}) {
  if (isFiltered) return <Empty icon="search" title={texts.empty.found} />;
  return (
    <Empty icon="budgets" title={texts.empty.title} action={<AddButton onAdd={onAdd} />}>
      {texts.empty.text[scope]}
    </Empty>
  );
}
