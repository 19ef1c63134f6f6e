/**
 * Writes `docs/prices.json` from LiteLLM's map of models, as its wheel has it:
 * `node dist/test/proxy/prices/write-prices-json.js MAP VERSION DATE`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { packageName } from "../../../proxy/prices/genai-prices.js";
import {
  convert,
  currentIds,
  isPerToken,
  type ListedModel,
  makePriceFile,
  printPriceFile,
} from "../../../proxy/prices/litellm-prices.js";
import { createPriceList } from "../../../proxy/prices/price-list.js";
import { emptyPriceFile } from "../../../proxy/prices/prices-json.js";

const [path, version, date] = process.argv.slice(2);
if (path === undefined || version === undefined || !/^\d{4}-\d\d-\d\d$/.test(date ?? ""))
  throw new Error("usage: write-prices-json.js MAP VERSION YYYY-MM-DD");
const map = JSON.parse(readFileSync(path, "utf8")) as Readonly<Record<string, ListedModel>>;
const file = makePriceFile({
  map,
  date: date!,
  lists: [`LiteLLM ${version} (MIT)`, packageName],
  fallback: await createPriceList({ file: emptyPriceFile, from: "" }),
});
writeFileSync("docs/prices.json", printPriceFile(file));
const counts = new Map<string, { ids: number; priced: number }>();
for (const id of currentIds(map, date!)) {
  const count = counts.get(id.providerId) ?? { ids: 0, priced: 0 };
  counts.set(id.providerId, count);
  if (!isPerToken(id)) continue;
  count.ids++;
  if (convert(id) !== null) count.priced++;
}
for (const [name, { ids, priced }] of counts)
  console.log(
    `${name}: ${priced} of ${ids} ids per token, ${Object.keys(file.providers[name] ?? {}).length} in all`,
  );
