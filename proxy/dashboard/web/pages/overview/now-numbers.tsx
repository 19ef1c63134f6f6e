/** Five numbers of this moment, each with its unit. */
import { formatCount, formatMoney, formatShort } from "../../logic/numbers.js";
import { currentRate } from "../../logic/rates.js";
import { useApp } from "../../parts/app.js";
import { Figures } from "../../parts/usage/figures.js";
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
    <section aria-label={texts.label}>
      <Figures
        figures={[
          { label: texts.admitted, value: perSecond(rate?.admitted), note: texts.perSecond },
          {
            label: texts.refused,
            value: perSecond(refused),
            note: texts.refusedBy(perSecond(rate?.refused), perSecond(rate?.overBudget)),
          },
          {
            label: texts.inFlight,
            value: last === undefined ? texts.unknown : formatCount(last.inFlight),
            note: texts.holding,
          },
          {
            label: texts.tokens,
            value: tokens === null ? texts.unknown : formatShort(Math.round(tokens)),
            note: texts.perMinute,
          },
          {
            label: texts.spent,
            value:
              typeof last?.costToday === "number" ? formatMoney(last.costToday) : texts.unknown,
            note: texts.today,
          },
        ]}
      />
    </section>
  );
}
