/**
 * What an alert says: a line and a text that can be sent as an e-mail, and the body of each format
 * (docs/alerts.md). Pure.
 */

import type { AlertConfig } from "../../shared/config/config.js";
import { formatPercent } from "../../shared/text/percent.js";
import type { Alert } from "../../shared/wire/alert.js";

/** An alert, or what `sluice alerts test` and the dashboard's button send. */
export type SendResult =
  | Alert
  | { readonly id: string; readonly type: "test"; readonly created_at: string };

/** The body of a request to a webhook. */
export function alertBody(sent: SendResult, format: AlertConfig["format"]): string {
  const email = emailOf(sent);
  if (format === "slack")
    return JSON.stringify({ text: `*${slackText(email.subject)}*\n${slackText(email.text)}` });
  const { type, created_at: timestamp, ...data } = sent;
  return JSON.stringify({ type, timestamp, data: { ...data, email } });
}

/** `&`, `<` and `>` begin markup in Slack. */
function slackText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

interface Email {
  readonly subject: string;
  readonly text: string;
}

/** A subject line and a plain text. */
export function emailOf(sent: SendResult): Email {
  if (sent.type === "test")
    return {
      subject: "Sluice: a test",
      text: "This is a test of the alerts of Sluice. If you read it, they arrive.",
    };
  const { scope, subject, period_label: period, period_end: end, models } = sent;
  const who = scope === "user_path" ? subject : `${scope} ${subject}`;
  const whose = models === undefined ? who : `${who} (${models.join(", ")})`;
  if (sent.type === "rate_limit.threshold") {
    const { dimension = "requests", used = 0, limit = 0 } = sent;
    return {
      subject: `Sluice: ${whose} has used ${percent(sent)} of its ${dimension} limit (${period})`,
      text: `${whose} has used ${used} of ${limit} ${dimension} of its limit (${period}).`,
    };
  }
  const { spent = 0, amount = 0, forecast } = sent;
  const ends =
    sent.rolling === true ? "The period is rolling." : `The ${period} period ends at ${end}.`;
  const state = `${whose} has spent ${usd(spent)} of ${usd(amount)}. ${ends}`;
  if (sent.type === "budget.threshold")
    return {
      subject: `Sluice: ${whose} has spent ${percent(sent)} of its ${period} budget`,
      text:
        sent.usage_ratio >= 1
          ? `${state} Sluice refuses its requests until something is left again.`
          : state,
    };
  return {
    subject: `Sluice: the ${period} budget of ${whose} runs out at ${forecast?.exhausts_at ?? "an unknown time"}`,
    text: `${state} At the present pace of ${usd(forecast?.rate_usd_per_hour ?? 0)} an hour it runs out at ${forecast?.exhausts_at ?? "an unknown time"}.`,
  };
}

/** The threshold; the share itself may be far above it. */
function percent({ threshold, usage_ratio: ratio }: Alert): string {
  return formatPercent(threshold ?? ratio);
}

/** Two decimals, or as many as a small amount has. */
function usd(amount: number): string {
  return amount !== 0 && Math.abs(amount) < 0.01 ? `$${amount}` : `$${amount.toFixed(2)}`;
}
