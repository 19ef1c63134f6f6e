/** Providers as this proxy knows them, their models with prices, and what stands for models. */
import type { ProviderList } from "../../../../../shared/api/provider-item.js";
import { PageHead, WhenReady } from "../../parts/page.js";
import { useListPoll } from "../../parts/use-poll.js";
import { providersTexts as texts } from "../../texts/setup-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { ModelPrices } from "./model-prices.js";
import { ProviderTable } from "./provider-table.js";
import { VirtualModels } from "./virtual-models.js";

export function ProvidersPage() {
  const { polled, refresh } = useListPoll<ProviderList>("/admin/providers");
  return (
    <>
      <PageHead title={shellTexts.pages.providers}>{texts.about}</PageHead>
      <WhenReady polled={polled} onRetry={refresh}>
        {(list) => (
          <div class="stack">
            <ProviderTable list={list} />
            <VirtualModels list={list} />
            <ModelPrices providers={list.providers} />
          </div>
        )}
      </WhenReady>
    </>
  );
}
