/** Chooses the format of a scrape by its `Accept` header. */
import type { MetricsFormat } from "./write-metrics.js";

/**
 * OpenMetrics if the client accepts it with at least the same weight; otherwise the text format of
 * Prometheus.
 */
export function chooseFormat(accept: string | undefined): MetricsFormat {
  let open = 0;
  let plain = 0;
  for (const range of (accept ?? "").split(",").slice(0, 32)) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const parameterValues = new Map(
      parameters.map((parameter) => {
        const [name = "", value = ""] = parameter.split("=");
        return [name.trim(), value.trim().replace(/^"(.*)"$/, "$1")] as const;
      }),
    );
    const quality = qualityOf(parameterValues.get("q"));
    const version = parameterValues.get("version") ?? "1.0.0";
    if (type === "application/openmetrics-text" && ["0.0.1", "1.0.0"].includes(version))
      open = Math.max(open, quality);
    if (type === "text/plain") plain = Math.max(plain, quality);
  }
  return open > 0 && open >= plain ? "openmetrics" : "prometheus";
}

function qualityOf(text: string | undefined): number {
  const quality = text === undefined ? 1 : Number(text);
  return quality >= 0 && quality <= 1 ? quality : 0;
}
