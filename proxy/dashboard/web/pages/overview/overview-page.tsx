/** How the gateway is: whether it is well, what it does now, what is nearly used up. */

import { ratesOf, spacedSamples } from "../../logic/rates.js";
import { useApp } from "../../parts/app.js";
import { LineChart } from "../../parts/line-chart.js";
import { PageHead } from "../../parts/page.js";
import { overviewTexts as texts } from "../../texts/overview-texts.js";
import { ClosestList } from "./closest-list.js";
import { HealthStrip } from "./health-strip.js";
import { NowNumbers } from "./now-numbers.js";
import { RefusalList } from "./refusal-list.js";

/** Of the line: 120 points in ten minutes. */
const stepMs = 5_000;

export function OverviewPage() {
  return (
    <>
      <PageHead title={texts.title} />
      <div class="stack">
        <HealthStrip />
        <NowNumbers />
        <RequestChart />
        <div class="halves">
          <ClosestList />
          <RefusalList />
        </div>
      </div>
    </>
  );
}

function RequestChart() {
  const { live } = useApp();
  const rates = ratesOf(spacedSamples(live.live.value.samples, stepMs));
  return (
    <LineChart
      title={texts.chart.title}
      times={rates.map(({ atMs }) => atMs)}
      lines={[
        {
          name: texts.chart.admitted,
          look: "first",
          values: rates.map(({ admitted }) => admitted),
        },
        {
          name: texts.chart.refused,
          look: "second",
          values: rates.map(({ refused, overBudget }) => refused + overBudget),
        },
      ]}
    />
  );
}
