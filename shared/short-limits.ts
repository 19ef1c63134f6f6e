/** How variables, flags and other gateways abbreviate a limit: `rpm`. Pure. */
export const shortLimits: Readonly<
  Record<string, { readonly period: string; readonly cap: "max_requests" | "max_tokens" }>
> = {
  rpm: { period: "minute", cap: "max_requests" },
  rph: { period: "hour", cap: "max_requests" },
  rpd: { period: "day", cap: "max_requests" },
  tpm: { period: "minute", cap: "max_tokens" },
  tph: { period: "hour", cap: "max_tokens" },
  tpd: { period: "day", cap: "max_tokens" },
  concurrent: { period: "concurrent", cap: "max_requests" },
};
