/** Requests in three tabs: those in flight, those that have ended, and those that were refused. */
import { hrefOf } from "../../data/router.js";
import { useApp } from "../../parts/app.js";
import { PageHead } from "../../parts/page.js";
import { Tabs } from "../../parts/tabs.js";
import { requestsTexts as texts } from "../../texts/requests-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { InFlightTab } from "./in-flight-tab.js";
import { RecentTab } from "./recent-tab.js";
import { RefusedTab } from "./refused-tab.js";

const shown = { "in-flight": InFlightTab, recent: RecentTab, refused: RefusedTab } as const;
const first = "in-flight";

export function RequestsPage() {
  const asked = useApp().router.place.value.query.get("tab") ?? first;
  const tab = Object.hasOwn(shown, asked) ? (asked as keyof typeof shown) : first;
  const Shown = shown[tab];
  return (
    <>
      <PageHead title={shellTexts.pages.requests}>{texts.about}</PageHead>
      <div class="stack">
        <Tabs
          label={texts.tabsLabel}
          current={tab}
          tabs={Object.entries(texts.tabs).map(([key, text]) => ({
            key,
            text,
            href: hrefOf("requests", key === first ? {} : { tab: key }),
          }))}
        />
        <Shown key={tab} />
      </div>
    </>
  );
}
