/** The colours of what warns, in terminals only. Pure. */
import { escapeControls } from "../../shared/logging/escape-controls.js";

/** `warn`: near its end; `bad`: at its end, or failed. */
export type Tone = "warn" | "bad";

const codes = { warn: "33", bad: "31" } as const satisfies Readonly<Record<Tone, string>>;

export function paint(text: string, tone: Tone): string {
  return `\u001b[${codes[tone]}m${text}\u001b[0m`;
}

/** The sequences that `paint` writes within one line. Any other text from outside stays escaped. */
const painted = /(\u001b\[3[13]m[^\u001b\n]*\u001b\[0m)/;

/** Escapes control characters, except those of `paint`. */
export function escapeExceptTones(text: string): string {
  return text
    .split(painted)
    .map((part, index) => {
      if (index % 2 === 0) return escapeControls(part);
      return part.slice(0, 5) + escapeControls(part.slice(5, -4)) + part.slice(-4);
    })
    .join("");
}

/** `error:` and `warning:` at the beginning of lines in their colours. */
export function paintWords(text: string): string {
  return text.replaceAll(/^(error|warning)(?=:)/gm, (word) =>
    paint(word, word === "error" ? "bad" : "warn"),
  );
}

/** From 80% of a limit on it warns, as in the dashboard. */
export function toneOfShare(share: number): Tone | null {
  return share >= 1 ? "bad" : share >= 0.8 ? "warn" : null;
}

/**
 * Whether colours are shown, in a terminal or in something else: by NO_COLOR
 * (https://no-color.org), then by FORCE_COLOR or CLICOLOR_FORCE, then by CLICOLOR.
 */
export function showsColour(
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  if (env["NO_COLOR"]) return false;
  const forced = env["FORCE_COLOR"] || env["CLICOLOR_FORCE"];
  if (forced) return forced !== "0";
  return isTerminal && env["CLICOLOR"] !== "0" && env["TERM"] !== "dumb";
}
