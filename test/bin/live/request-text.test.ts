import t from "tap";
import { renderRequest } from "../../../bin/live/request-text.js";
import type { RecordItem } from "../../../shared/api/record-item.js";

const record = {
  status: 200,
  provider: "openai",
  model: "gpt-5.4",
  user_path: "/team",
  input_tokens: 7,
  output_tokens: 23,
  cached_input_tokens: 0,
  cache_write_input_tokens: 0,
  input_cost: 0.0175,
  output_cost: 0.345,
  total_cost: 0.3625,
  cost_source: "list",
  price_list: "2026-11-01",
} as unknown as RecordItem;

function render(fields: Partial<RecordItem>): string {
  return renderRequest({
    request_id: "req_1",
    request: null,
    records: [{ ...record, ...fields }],
    refusal: null,
    limits: null,
    server_time: "2026-11-30T00:00:00.000Z",
  });
}

t.test("beside the cost of a request stands the price that it was charged", (t) => {
  t.match(
    render({}),
    "$0.3625 (input $0.0175 at $2,500.00 per million, output $0.345 at $15,000.00 per million; price: list of 2026-11-01)",
  );
  t.match(render({ total_cost: 0.3725 }), "per million, fees $0.01; price");
  t.match(
    render({ output_tokens: 0, output_cost: 0, total_cost: 0.0175 }),
    "per million, output $0.00; price",
    "no tokens, no price",
  );
  t.match(render({ input_cost: null, output_cost: null, total_cost: null }), /cost +no price/);
  t.end();
});
