import t from "tap";
import { feesOf, usdPerMillion } from "../../../shared/domain/paid-price.js";

t.test("the price per million tokens, from what they cost", (t) => {
  t.equal(usdPerMillion(0.0175, 7), 2500);
  t.equal(usdPerMillion(0.000_002_1, 7), 0.3);
  t.equal(usdPerMillion(0, 7), 0);
  t.equal(usdPerMillion(null, 7), null, "unpriced");
  t.equal(usdPerMillion(0, 0), null, "no tokens");
  t.end();
});

t.test("fees: what isn't the tokens' cost", (t) => {
  t.equal(feesOf({ input_cost: 0.1, output_cost: 0.2, total_cost: 0.3 }), 0);
  t.equal(feesOf({ input_cost: 0.1, output_cost: 0.2, total_cost: 0.31 }), 0.01);
  t.equal(feesOf({ input_cost: null, output_cost: null, total_cost: null }), 0);
  t.end();
});
