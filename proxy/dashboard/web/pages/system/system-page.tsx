/** The daemon with its store, what is loaded without effect, and the settings in force. */
import type { DaemonStatus, SettingsList } from "../../../../../shared/api/gateway-status.js";
import { Card, PageHead, WhenReady } from "../../parts/page.js";
import { useListPoll } from "../../parts/use-poll.js";
import { systemTexts as texts } from "../../texts/setup-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { DaemonFacts, StoreFacts } from "./daemon-facts.js";
import { HostsTable } from "./hosts-table.js";
import { SettingsTable } from "./settings-table.js";

const settingsEveryMs = 60_000;

export function SystemPage() {
  const status = useListPoll<DaemonStatus>("/admin/status");
  const settings = useListPoll<SettingsList>("/admin/config", { everyMs: settingsEveryMs });
  return (
    <>
      <PageHead title={shellTexts.pages.system}>{texts.about}</PageHead>
      <div class="stack">
        <WhenReady polled={status.polled} onRetry={status.refresh}>
          {(daemon) => (
            <>
              <div class="halves">
                <DaemonFacts status={daemon} />
                <StoreFacts status={daemon} />
              </div>
              {daemon.cluster !== null && <HostsTable cluster={daemon.cluster} />}
              <Inert of={daemon.inert} />
            </>
          )}
        </WhenReady>
        <WhenReady polled={settings.polled} onRetry={settings.refresh}>
          {(list) => <SettingsTable list={list} />}
        </WhenReady>
      </div>
    </>
  );
}

function Inert({ of }: { readonly of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <Card title={texts.inert}>
      <ul class="lines">
        {of.map((line) => (
          <li class="wrap" key={line}>
            {line}
          </li>
        ))}
      </ul>
    </Card>
  );
}
