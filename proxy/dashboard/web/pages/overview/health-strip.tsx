/** One line while all is well; a sentence for each thing that isn't. */
import type { Health } from "../../../../../shared/api/gateway-status.js";
import { formatCount, formatDuration, formatShort } from "../../logic/numbers.js";
import { type Trouble, troublesOf } from "../../logic/troubles.js";
import { useApp } from "../../parts/app.js";
import { Icon } from "../../parts/icon.js";
import { usePoll } from "../../parts/use-poll.js";
import { overviewTexts } from "../../texts/overview-texts.js";

const texts = overviewTexts.health;
const askEveryMs = 10_000;
const namesMax = 3;

export function HealthStrip() {
  const { connection, live } = useApp();
  const health = usePoll<Health>("/health", askEveryMs).state.value.body;
  const { status } = live.live.value;
  if (status === null) return null;
  const troubles = troublesOf(status, health);
  const isWell = troubles.length === 0 && connection.state.value === "ok";
  const mode = health?.limiter?.failure_mode;
  return (
    <>
      {troubles.length > 0 && (
        <div class="troubles" role="alert">
          {troubles.map((trouble) => (
            <p class={trouble.kind === "store" ? "notice bad" : "notice warn"} key={trouble.kind}>
              <Icon name="alert" />
              <span>{wordsFor(trouble)}</span>
            </p>
          ))}
        </div>
      )}
      <ul class="health soft" aria-label={texts.label}>
        {isWell && (
          <li class="good">
            <span class="dot" />
            {texts.well}
          </li>
        )}
        <li>{texts.daemon(status.version, formatDuration(status.uptime_seconds))}</li>
        <li>{texts.proxies(status.proxies)}</li>
        {status.store.bytes !== null && (
          <li>{texts.store(`${formatShort(Math.round(status.store.bytes / 100_000) / 10)} MB`)}</li>
        )}
        {mode !== undefined && <li>{mode === "closed" ? texts.closed : texts.open}</li>}
      </ul>
    </>
  );
}

function wordsFor(trouble: Trouble): string {
  const words = overviewTexts.troubles;
  switch (trouble.kind) {
    case "store":
    case "cluster":
      return words[trouble.kind](trouble.reason);
    case "inert":
      return words.inert(trouble.count, trouble.names.slice(0, namesMax).join("; "));
    case "targets":
      return words.targets(formatCount(trouble.failing), formatCount(trouble.open));
    case "unsettled":
    case "dropped":
    case "older-proxies":
      return words[trouble.kind](formatCount(trouble.count));
    default:
      return words[trouble.kind];
  }
}
