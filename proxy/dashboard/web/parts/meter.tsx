/** A bar with the used share of a cap, always beside the numbers in words. */
import { formatShare } from "../../../../shared/text/percent.js";
import { levelOf, shareOf } from "../logic/used-share.js";
import { shellTexts } from "../texts/shell-texts.js";

interface MeterProps {
  readonly used: number;
  readonly cap: number;
  readonly format: (value: number) => string;
  /** The unit of the numbers. */
  readonly unit?: string;
  /** The expected used share at an even pace, from 0 to 1. */
  readonly pace?: number;
}

export function Meter({ used, cap, format, unit, pace }: MeterProps) {
  const share = shareOf({ used, cap });
  const level = levelOf(share);
  return (
    <div class={`meter ${level}`}>
      <div class="meter-text">
        <span>
          {format(used)} <span class="soft">/ {format(cap)}</span>
          {unit !== undefined && <span class="soft"> {unit}</span>}
        </span>
        <span class={level === "full" ? "bad" : level === "near" ? "warn" : "soft"}>
          {formatShare(share)}
          {level !== "room" && (
            <span class="visually-hidden">
              {level === "full" ? shellTexts.meter.full("") : shellTexts.meter.near("")}
            </span>
          )}
        </span>
      </div>
      <div class="meter-track" aria-hidden="true">
        <div class="meter-fill" style={{ width: `${Math.min(100, share * 100)}%` }} />
        {pace !== undefined && (
          <div class="meter-tick" style={{ left: `${Math.min(100, pace * 100)}%` }} />
        )}
      </div>
    </div>
  );
}
