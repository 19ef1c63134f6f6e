/** Facts about the daemon and its store, as lists of names and values. */
import type { ComponentChildren } from "preact";
import type { DaemonStatus } from "../../../../../shared/api/gateway-status.js";
import { formatBytes, formatCount, formatDuration, formatTime } from "../../logic/numbers.js";
import { Card } from "../../parts/page.js";
import { systemTexts as texts } from "../../texts/setup-texts.js";

type Fact = readonly [name: string, value: ComponentChildren];

export function DaemonFacts({ status }: { readonly status: DaemonStatus }) {
  const older = status.older_proxies;
  return (
    <Facts
      title={texts.daemon}
      facts={[
        [texts.version, status.version],
        [texts.uptime, formatDuration(status.uptime_seconds)],
        [
          texts.proxies,
          older === 0 ? formatCount(status.proxies) : `${status.proxies}, ${texts.older(older)}`,
        ],
        [texts.rules, status.enabled ? formatCount(status.rules) : texts.off],
        [texts.budgets, status.budgets_enabled ? formatCount(status.budgets) : texts.off],
        [texts.keys, formatCount(status.keys)],
        [texts.admitted, `${formatCount(status.admitted)} ${texts.sinceStart}`],
        [texts.refused, `${formatCount(status.refused)} ${texts.sinceStart}`],
        [texts.settled, `${formatCount(status.settled)} ${texts.sinceStart}`],
      ]}
    />
  );
}

export function StoreFacts({ status: { store } }: { readonly status: DaemonStatus }) {
  const flushed = store.last_flush_at;
  return (
    <Facts
      title={texts.store}
      facts={[
        [texts.file, <code key="file">{store.file}</code>],
        [texts.size, store.bytes === null ? null : formatBytes(store.bytes)],
        [texts.journal, formatBytes(store.journal_bytes)],
        [texts.flushed, flushed === null ? texts.notYet : formatTime(flushed)],
        [texts.failedCommits, formatCount(store.failed_commits)],
        [
          texts.failing,
          store.failing === null ? (
            <span class="badge good">{texts.well}</span>
          ) : (
            <span class="bad">{store.failing}</span>
          ),
        ],
      ]}
    />
  );
}

function Facts({ title, facts }: { readonly title: string; readonly facts: readonly Fact[] }) {
  return (
    <Card title={title}>
      <dl class="card-body facts">
        {facts
          .filter(([, value]) => value !== null)
          .map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd class="wrap">{value}</dd>
            </>
          ))}
      </dl>
    </Card>
  );
}
