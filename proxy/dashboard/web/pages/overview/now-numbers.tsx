/** Five numbers of this moment, each with its unit. */
import { formatCount, formatMoney, formatShort } from "../../logic/numbers.js";
import { currentRate } from "../../logic/rates.js";
import { useApp } from "../../parts/app.js";
import { overviewTexts } from "../../texts/overview-texts.js";

const texts = overviewTexts.now;
/** So that one busy second isn't the number. */
const overMs = 15_000;

export function NowNumbers() {
  const { live } = useApp();
  const { samples } = live.live.value;
  const last = samples.at(-1);
  const rate = currentRate(samples, overMs);
  const perSecond = (value: number | undefined): string =>
    value === undefined ? texts.unknown : formatShort(Math.round(value * 10) / 10);
  const refused = rate === null ? undefined : rate.refused + rate.overBudget;
  const tokens = rate?.tokens ?? null;
  return (
    <section class="card" aria-label={texts.label}>
      <dl class="numbers">
        <Tile name={texts.admitted} value={perSecond(rate?.admitted)} note={texts.perSecond} />
        <Tile
          name={texts.refused}
          value={perSecond(refused)}
          note={texts.refusedBy(perSecond(rate?.refused), perSecond(rate?.overBudget))}
        />
        <Tile
          name={texts.inFlight}
          value={last === undefined ? texts.unknown : formatCount(last.inFlight)}
          note={texts.holding}
        />
        <Tile
          name={texts.tokens}
          value={tokens === null ? texts.unknown : formatShort(Math.round(tokens))}
          note={texts.perMinute}
        />
        <Tile
          name={texts.spent}
          value={typeof last?.cost === "number" ? formatMoney(last.cost) : texts.unknown}
          note={texts.today}
        />
      </dl>
    </section>
  );
}

function Tile({
  name,
  value,
  note,
}: {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}) {
  return (
    <div class="number-tile">
      <dt>{name}</dt>
      <dd>{value}</dd>
      <dd>{note}</dd>
    </div>
  );
}
