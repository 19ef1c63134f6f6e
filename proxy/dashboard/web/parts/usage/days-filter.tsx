/** How many days of usage are shown, up to today in UTC. */
import { usageTexts as texts } from "../../texts/usage-texts.js";
import { FilterSelect } from "../lists/filters.js";

export function DaysFilter() {
  return <FilterSelect name="days" label={texts.days} options={dayOptions} />;
}

const dayOptions = [
  ["1", texts.lastDays["1"]],
  ["7", texts.lastDays["7"]],
  ["", texts.lastDays["30"]],
  ["90", texts.lastDays["90"]],
] as const;
